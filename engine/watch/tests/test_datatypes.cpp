// SPDX-License-Identifier: Apache-2.0
/// Layouts of random nested datatypes against a list of all their bytes, and that list against MPI_Pack.
/// Compiled with an MPI's wrapper, together with what reads datatypes; runs as one rank without a launcher.
#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "kept_rows.hpp"
#include "random_types.hpp"
#include "watch/datatypes.hpp"
#include "watch/imports.hpp"
#include "watch/library.hpp"

/// No wrapper is in this program, so there is none to take back.
void slowpath::watch::withdraw_missing() {}

namespace {

using random_types::bytes_of;
using random_types::extent_of;
using random_types::Maker;
using random_types::Number;
using random_types::Piece;
using random_types::Pieces;
using random_types::Type;
using slowpath::watch::contiguous;
using slowpath::watch::DatatypeView;
using slowpath::watch::kept_capacity;
using slowpath::watch::Word;

int failures = 0;

#define EXPECT_EQUAL(got, wanted, about)                                                                  \
    do {                                                                                                  \
        const auto got_ = static_cast<long long>(got), wanted_ = static_cast<long long>(wanted);          \
        if (got_ == wanted_) break;                                                                       \
        ++failures;                                                                                       \
        std::printf("%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, about, #got, got_, wanted_); \
    } while (0)

Word word(MPI_Datatype type) {
    Word handle = 0;
    std::memcpy(&handle, &type, sizeof type);
    return handle;
}

Pieces joined(const Pieces& pieces) {
    Pieces blocks;
    for (const Piece& piece : pieces) {
        if (!blocks.empty() && blocks.back().begin + blocks.back().bytes == piece.begin)
            blocks.back().bytes += piece.bytes;
        else
            blocks.push_back(piece);
    }
    return blocks;
}

/// Whether MPI packs what the list says, byte for byte.
bool is_packed_by(const Type& type, const char* about) {
    Number begin = 0, end = 0;
    for (const Piece& piece : type.pieces) {
        begin = std::min(begin, piece.begin);
        end = std::max(end, piece.begin + piece.bytes);
    }
    std::vector<char> memory(static_cast<std::size_t>(end - begin) + 16);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<char>(i * 7 + i / 251);
    std::vector<char> wanted;
    for (const Piece& piece : type.pieces)
        for (Number i = 0; i < piece.bytes; ++i)
            wanted.push_back(memory[static_cast<std::size_t>(piece.begin - begin + i)]);
    std::vector<char> packed(wanted.size() + 64);
    int at = 0;
    MPI_Pack(memory.data() - begin, 1, type.handle, packed.data(), static_cast<int>(packed.size()), &at,
             MPI_COMM_SELF);
    EXPECT_EQUAL(at, wanted.size(), about);
    packed.resize(wanted.size());
    return packed == wanted;
}

void check_row(const Type& type, const char* about) {
    const DatatypeView view = slowpath::watch::view_datatype(word(type.handle));
    const Pieces blocks = joined(type.pieces);
    const Number bytes = bytes_of(blocks), extent = extent_of(type.handle);
    EXPECT_EQUAL(view.bytes, bytes, about);
    EXPECT_EQUAL(view.extent_bytes, extent, about);
    const bool is_dense = blocks.empty() || (blocks.size() == 1 && extent == bytes);
    EXPECT_EQUAL(view.has_gaps, !is_dense, about);
    EXPECT_EQUAL(view.row == contiguous, is_dense, about);
    if (is_dense || view.row == contiguous) return;
    const auto row = slowpath::watch::sections().datatypes[view.row];
    Number least = INT64_MAX, most = 0;
    bool is_even = true;
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        least = std::min(least, blocks[i].bytes);
        most = std::max(most, blocks[i].bytes);
        if (i > 1) is_even &= blocks[i].begin - blocks[i - 1].begin == blocks[1].begin - blocks[0].begin;
    }
    EXPECT_EQUAL(row.blocks, blocks.size(), about);
    EXPECT_EQUAL(row.bytes, bytes, about);
    EXPECT_EQUAL(row.shape, is_even && least == most ? 2 : 3, about);
}

void check_random(int count) {
    int deep = 0, others = 0;
    for (int seed = 0; seed < count; ++seed) {
        char about[32];
        std::snprintf(about, sizeof about, "seed %d", seed);
        Maker maker(static_cast<unsigned>(seed));
        Type type = maker.make(maker.number(1, 4));
        if (bytes_of(type.pieces) < 200000) {
            MPI_Type_commit(&type.handle);
            others += !is_packed_by(type, about);
            check_row(type, about);
            deep += joined(type.pieces).size() > 1;
            slowpath::watch::datatype_freed(word(type.handle));
        }
        MPI_Type_free(&type.handle);
        if (slowpath::watch::sections().datatypes.used() > kept_capacity / 2)
            slowpath::watch::keep_rows_anew();
    }
#ifdef OPEN_MPI
    // Version 5.0.11 packs other bytes for 3 of the first 2000, for which MPICH and Intel MPI agree with the
    // list.
    const int wrong = count / 400;
#else
    const int wrong = 0;
#endif
    EXPECT_EQUAL(others <= wrong, true, "types that MPI packs as the list has them");
    EXPECT_EQUAL(deep > count / 4, true, "types with several blocks");
}

void check_large() {
    MPI_Datatype columns, plane;
    MPI_Type_vector(1 << 20, 1, 1 << 10, MPI_DOUBLE, &columns);
    MPI_Type_create_hvector(64, 1, 8, columns, &plane);
    const DatatypeView view = slowpath::watch::view_datatype(word(plane));
    const auto row = slowpath::watch::sections().datatypes[view.row];
    EXPECT_EQUAL(row.blocks, 64LL << 20, "64 Mi blocks");
    EXPECT_EQUAL(row.bytes, 8LL << 26, "64 Mi blocks");
    EXPECT_EQUAL(row.shape, 3, "64 Mi blocks");
    std::vector<int> places(3 << 20);
    for (std::size_t i = 0; i < places.size(); ++i) places[i] = static_cast<int>(2 * i);
    MPI_Datatype list;
    MPI_Type_create_indexed_block(static_cast<int>(places.size()), 1, places.data(), MPI_INT, &list);
    const DatatypeView unknown = slowpath::watch::view_datatype(word(list));
    EXPECT_EQUAL(unknown.bytes, 4 * places.size(), "a list beyond what is read");
    EXPECT_EQUAL(unknown.has_gaps, true, "a list beyond what is read");
    EXPECT_EQUAL(slowpath::watch::sections().datatypes[unknown.row].shape, 4, "a list beyond what is read");
    for (MPI_Datatype* const type : {&columns, &plane, &list}) {
        slowpath::watch::datatype_freed(word(*type));
        MPI_Type_free(type);
    }
}

void check_handles() {
    const DatatypeView none = slowpath::watch::view_datatype(word(MPI_DATATYPE_NULL));
    EXPECT_EQUAL(none.bytes, 0, "MPI_DATATYPE_NULL");
    for (const MPI_Datatype type : {MPI_DOUBLE, MPI_INT, MPI_BYTE, MPI_CHAR}) {
        int bytes = 0;
        MPI_Type_size(type, &bytes);
        // The upper half of a handle of 4 bytes is anything.
        const Word noise = sizeof(MPI_Datatype) == 4 ? Word{0xabcd} << 32 : 0;
        for (int turn = 0; turn < 2; ++turn) {
            const DatatypeView view = slowpath::watch::view_datatype(word(type) | noise);
            EXPECT_EQUAL(view.bytes, bytes, "a type of MPI's own");
            EXPECT_EQUAL(view.row, contiguous, "a type of MPI's own");
            EXPECT_EQUAL(view.has_gaps, false, "a type of MPI's own");
        }
    }
    // Types of one layout, made over and over.
    const std::uint32_t before = slowpath::watch::sections().datatypes.used();
    for (int i = 0; i < 20000; ++i) {
        MPI_Datatype vector;
        MPI_Type_vector(7, 3, 5 + i % 2, MPI_DOUBLE, &vector);
        EXPECT_EQUAL(slowpath::watch::view_datatype(word(vector)).extent_bytes, extent_of(vector),
                     "made again");
        slowpath::watch::datatype_freed(word(vector));
        MPI_Type_free(&vector);
    }
    EXPECT_EQUAL(slowpath::watch::sections().datatypes.used() - before, 2, "rows");
}

void check_room() {
    slowpath::watch::keep_rows_anew(3);
    for (int i = 0; i < 5; ++i) {
        MPI_Datatype vector;
        MPI_Type_vector(7, 3, 100 + i, MPI_DOUBLE, &vector);
        const DatatypeView view = slowpath::watch::view_datatype(word(vector));
        EXPECT_EQUAL(view.row, i < 2 ? i : 2, "no room");
        slowpath::watch::datatype_freed(word(vector));
        MPI_Type_free(&vector);
    }
    EXPECT_EQUAL(slowpath::watch::sections().datatypes[2].shape, 4, "no room");
    EXPECT_EQUAL(slowpath::watch::lost_datatypes(), 3, "no room");
}

}  // namespace

/// With a number: so many random types.
int main(int count, char** arguments) {
    MPI_Init(nullptr, nullptr);
    slowpath::watch::keep_rows_anew();
    check_handles();
    check_random(count > 1 ? std::atoi(arguments[1]) : 2000);
    check_large();
    check_room();
    MPI_Finalize();
    if (failures != 0) std::printf("%d failures\n", failures);
    return failures == 0 ? 0 : 1;
}
