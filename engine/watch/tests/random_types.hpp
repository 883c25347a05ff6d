// SPDX-License-Identifier: Apache-2.0
/// Random nested datatypes, each with the list of its bytes, made by the rules of MPI-4.1, chapter 5; only
/// extents are asked of MPI.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>
#include <vector>

namespace random_types {

using Number = std::int64_t;

struct Piece {
    Number begin;
    Number bytes;
};
using Pieces = std::vector<Piece>;

struct Type {
    MPI_Datatype handle;
    Pieces pieces;  ///< in the order of the type map, not joined
    bool is_named = false;
};

inline void add(Pieces& to, const Pieces& more, Number shift) {
    for (const Piece& piece : more)
        if (piece.bytes != 0) to.push_back({piece.begin + shift, piece.bytes});
}

inline Number extent_of(MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    MPI_Type_get_extent(type, &lower, &extent);
    return extent;
}

/// Number of bytes in all copies; random types grow fast.
inline Number bytes_of(const Pieces& pieces) {
    Number sum = 0;
    for (const Piece& piece : pieces) sum += piece.bytes;
    return sum;
}

class Maker {
  public:
    explicit Maker(unsigned seed) : random_(seed) {}

    int number(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

    Type make(int depth) {
        if (depth == 0) return named();
        const Type part = make(depth - 1);
        Type made;
        switch (number(0, 12)) {
            case 0:
                made = contiguous_of(part);
                break;
            case 1:
            case 2:
                made = vector_of(part);
                break;
            case 3:
                made = hvector_of(part);
                break;
            case 4:
            case 5:
                made = indexed_of(part);
                break;
            case 6:
                made = block_of(part);
                break;
            case 7:
                made = resized(part);
                break;
            case 8:
                made.pieces = part.pieces;
                MPI_Type_dup(part.handle, &made.handle);
                break;
            case 9:
            case 10:
                made = subarray_of(part);
                break;
            default:
                made = struct_of(part, make(depth - 1));
                break;
        }
        if (!part.is_named) {
            MPI_Datatype gone = part.handle;
            MPI_Type_free(&gone);
        }
        return made;
    }

  private:
    Type named() {
        switch (number(0, 4)) {
            case 0:
                return {MPI_CHAR, {{0, 1}}, true};
            case 1:
                return {MPI_INT, {{0, 4}}, true};
            case 2:
                return {MPI_SHORT_INT, {{0, 2}, {4, 4}}, true};
            case 3:
                return {MPI_DOUBLE_INT, {{0, 8}, {8, 4}}, true};
            default:
                return {MPI_DOUBLE, {{0, 8}}, true};
        }
    }

    Type contiguous_of(const Type& part) {
        const int count = number(0, 4);
        Type made;
        for (int i = 0; i < count; ++i) add(made.pieces, part.pieces, i * extent_of(part.handle));
        MPI_Type_contiguous(count, part.handle, &made.handle);
        return made;
    }

    static Type strided(const Type& part, int count, int length, Number stride_bytes) {
        Type made;
        for (int i = 0; i < count; ++i)
            for (int k = 0; k < length; ++k)
                add(made.pieces, part.pieces, i * stride_bytes + k * extent_of(part.handle));
        return made;
    }

    Type vector_of(const Type& part) {
        const int count = number(0, 4), length = number(0, 3), stride = number(-2, 5);
        Type made = strided(part, count, length, stride * extent_of(part.handle));
        MPI_Type_vector(count, length, stride, part.handle, &made.handle);
        return made;
    }

    Type hvector_of(const Type& part) {
        const int count = number(0, 4), length = number(0, 3);
        const MPI_Aint stride = number(-20, 60);
        Type made = strided(part, count, length, stride);
        MPI_Type_create_hvector(count, length, stride, part.handle, &made.handle);
        return made;
    }

    Type indexed_of(const Type& part) {
        const int count = number(0, 5);
        const bool in_bytes = number(0, 1) == 1;
        std::vector<int> lengths, places;
        std::vector<MPI_Aint> addresses;
        Type made;
        for (int i = 0, at = 0; i < count; ++i) {
            lengths.push_back(number(0, 3));
            places.push_back(at);
            addresses.push_back(at * 3);
            const Number begin = in_bytes ? at * 3 : at * extent_of(part.handle);
            for (int k = 0; k < lengths.back(); ++k)
                add(made.pieces, part.pieces, begin + k * extent_of(part.handle));
            at += number(-1, 5);
        }
        if (in_bytes)
            MPI_Type_create_hindexed(count, lengths.data(), addresses.data(), part.handle, &made.handle);
        else
            MPI_Type_indexed(count, lengths.data(), places.data(), part.handle, &made.handle);
        return made;
    }

    Type block_of(const Type& part) {
        const int count = number(0, 5), length = number(0, 3);
        const bool in_bytes = number(0, 1) == 1;
        std::vector<int> places;
        std::vector<MPI_Aint> addresses;
        Type made;
        for (int i = 0, at = 0; i < count; ++i) {
            places.push_back(at);
            addresses.push_back(at * 5);
            const Number begin = in_bytes ? at * 5 : at * extent_of(part.handle);
            for (int k = 0; k < length; ++k)
                add(made.pieces, part.pieces, begin + k * extent_of(part.handle));
            at += number(0, 4);
        }
        if (in_bytes)
            MPI_Type_create_hindexed_block(count, length, addresses.data(), part.handle, &made.handle);
        else
            MPI_Type_create_indexed_block(count, length, places.data(), part.handle, &made.handle);
        return made;
    }

    Type resized(const Type& part) {
        Type made;
        made.pieces = part.pieces;
        MPI_Type_create_resized(part.handle, number(-4, 4), number(1, 80), &made.handle);
        return made;
    }

    Type subarray_of(const Type& part) {
        const int dimensions = number(1, 3);
        const bool is_c = number(0, 1) == 1;
        std::vector<int> sizes, subsizes, starts;
        for (int i = 0; i < dimensions; ++i) {
            sizes.push_back(number(1, 4));
            subsizes.push_back(number(1, sizes.back()));
            starts.push_back(number(0, sizes.back() - subsizes.back()));
        }
        Type made;
        int all = 1;
        for (const int subsize : subsizes) all *= subsize;
        for (int i = 0; i < all; ++i) {
            // Indices of the i-th element, that of the fastest dimension first.
            Number place = 0, step = 1;
            for (int k = 0, rest = i; k < dimensions; ++k) {
                const auto at = static_cast<std::size_t>(is_c ? dimensions - 1 - k : k);
                place += (starts[at] + rest % subsizes[at]) * step;
                rest /= subsizes[at];
                step *= sizes[at];
            }
            add(made.pieces, part.pieces, place * extent_of(part.handle));
        }
        MPI_Type_create_subarray(dimensions, sizes.data(), subsizes.data(), starts.data(),
                                 is_c ? MPI_ORDER_C : MPI_ORDER_FORTRAN, part.handle, &made.handle);
        return made;
    }

    Type struct_of(const Type& one, const Type& other) {
        const int count = number(0, 4);
        std::vector<int> lengths;
        std::vector<MPI_Aint> places;
        std::vector<MPI_Datatype> types;
        Type made;
        for (int i = 0, at = 0; i < count; ++i) {
            const Type& part = number(0, 1) == 0 ? one : other;
            lengths.push_back(number(0, 2));
            places.push_back(at);
            types.push_back(part.handle);
            for (int k = 0; k < lengths.back(); ++k)
                add(made.pieces, part.pieces, at + k * extent_of(part.handle));
            at += number(0, 60);
        }
        MPI_Type_create_struct(count, lengths.data(), places.data(), types.data(), &made.handle);
        if (!other.is_named) {
            MPI_Datatype gone = other.handle;
            MPI_Type_free(&gone);
        }
        return made;
    }

    std::mt19937 random_;
};

}  // namespace random_types
