// SPDX-License-Identifier: Apache-2.0
#include "p2p/message.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "core/pattern.hpp"
#include "mpi/session.hpp"

namespace slowpath::p2p {

std::int64_t Layout::bytes_before(std::int64_t place) const {
    // Two blocks at a time: the next two lie as these do.
    const std::int64_t within = place % (2 * stride_bytes);
    const std::int64_t second = std::max<std::int64_t>(within - begin_of(1), 0);
    return place / (2 * stride_bytes) * 2 * block_bytes + std::min(within, block_bytes) +
           std::min(second, block_bytes);
}

void Layout::fill(std::span<std::byte> to, std::int64_t begin, std::uint64_t seed, bool inverted) const {
    if (contiguous()) return fill_pattern(to, seed, static_cast<std::uint64_t>(begin), inverted);
    const std::int64_t end = begin + static_cast<std::int64_t>(to.size());
    const std::int64_t from = bytes_before(begin) / 8 * 8;  // fill_pattern() begins at multiples of 8
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_before(end) - from));
    fill_pattern(bytes, seed, static_cast<std::uint64_t>(from), inverted);
    std::fill(to.begin(), to.end(), gap_value);
    for (std::int64_t block = std::max<std::int64_t>(begin / stride_bytes - 1, 0); begin_of(block) < end;
         ++block) {
        const std::int64_t first = std::max(begin_of(block), begin);
        const std::int64_t length = std::min(begin_of(block) + block_bytes, end) - first;
        if (length > 0)
            std::copy_n(bytes.begin() + (bytes_before(first) - from), length, to.begin() + (first - begin));
    }
}

namespace {

/// From one block to the next, in lengths of a block.
std::int64_t stride_of(Datatype datatype) {
    return datatype == Datatype::indexed_uneven ? 3 : 2;
}

[[noreturn]] void no_whole_blocks(std::int64_t message, const std::string& of_what) {
    throw UsageError("message_bytes " + std::to_string(message) + " is no multiple of " + of_what +
                     ": a message with gaps consists of whole blocks");
}

std::int64_t blocks_of(const Assignment& assignment, std::int64_t message) {
    const std::int64_t blocks = assignment.integer("blocks");
    if (assignment.text("block_bytes") == "auto") {
        if (message % blocks != 0) no_whole_blocks(message, "blocks " + std::to_string(blocks));
        return blocks;
    }
    const std::int64_t each = assignment.integer("block_bytes");
    if (message % each != 0) no_whole_blocks(message, "block_bytes " + std::to_string(each));
    if (blocks != 1 && blocks != message / each)
        throw UsageError("blocks " + std::to_string(blocks) + " and block_bytes " + std::to_string(each) +
                         " don't make message_bytes " + std::to_string(message) + "; leave one of them out");
    return message / each;
}

Datatype datatype_of(const std::string& word) {
    if (word == "vector") return Datatype::vector;
    if (word == "indexed_uneven") return Datatype::indexed_uneven;
    return word == "indexed" ? Datatype::indexed : Datatype::contiguous;
}

}  // namespace

Shape shape_of(const Assignment& assignment, Side which) {
    const std::int64_t message = assignment.integer("message_bytes");
    const Datatype datatype = datatype_of(assignment.text("datatype", which));
    if (datatype == Datatype::contiguous) return {datatype, Layout::piece(message)};
    // Counts, lengths and displacements of derived datatypes are int, and the gaps lengthen the message.
    const std::int64_t stride = stride_of(datatype), longest = INT_MAX / stride;
    if (message > longest)
        throw UsageError("message_bytes " + std::to_string(message) + " is over " + std::to_string(longest) +
                         ", the most that datatype=" + assignment.text("datatype", which) +
                         " takes; take datatype=contiguous");
    const std::int64_t blocks = blocks_of(assignment, message);
    const std::int64_t each = blocks == 0 ? 0 : message / blocks;
    // Gaps of three blocks' length and of one by turns: not stride, which some libraries move like a vector.
    const std::int64_t shift = datatype == Datatype::indexed_uneven ? each : 0;
    return {datatype, {message, blocks, each, stride * each, shift}};
}

namespace {

/// A number that need not lie at a multiple of its length: offset_bytes may be odd.
template <std::size_t Bytes>
void copy(std::byte* to, const std::byte* from) {
    std::array<std::byte, Bytes> element;
    std::memcpy(element.data(), from, Bytes);
    std::memcpy(to, element.data(), Bytes);
}

/// @param body Called with where a block lies in the message, and where among the packed ones.
template <class Place, class Body>
void for_each_block(const Layout& layout, const Place& place, const Body& body) {
    for (std::int64_t block = 0, at = 0; block < layout.blocks; ++block, at += layout.block_bytes)
        body(place(block), at);
}

/// Blocks of one element need no loop of their own, and programs have none for them.
template <std::size_t Bytes, class Place, class Move>
void for_each_element(const Layout& layout, const Place& place, const Move& move) {
    constexpr auto step = static_cast<std::int64_t>(Bytes);
    if (layout.block_bytes == step) return for_each_block(layout, place, move);
    for_each_block(layout, place, [&](std::int64_t begin, std::int64_t at) {
        for (std::int64_t i = 0; i < layout.block_bytes; i += step) move(begin + i, at + i);
    });
}

template <std::size_t Bytes, class Move>
void for_each(const Layout& layout, const std::vector<int>& places, const Move& move) {
    const std::int64_t stride = layout.stride_bytes;
    const int* const list = places.data();
    if (places.empty())
        for_each_element<Bytes>(layout, [stride](std::int64_t block) { return block * stride; }, move);
    else
        for_each_element<Bytes>(
            layout, [list](std::int64_t block) { return std::int64_t{list[block]}; }, move);
}

}  // namespace

PackingLoop::PackingLoop(const Layout& layout, int element_bytes, bool has_list)
    : layout_(layout), element_bytes_(element_bytes) {
    if (!has_list) return;
    places_.reserve(static_cast<std::size_t>(layout.blocks));
    for (std::int64_t block = 0; block < layout.blocks; ++block)
        places_.push_back(static_cast<int>(layout.begin_of(block)));
}

void PackingLoop::gather(const std::byte* data, std::byte* packed) const {
    if (element_bytes_ == 8)
        for_each<8>(layout_, places_,
                    [=](std::int64_t from, std::int64_t to) { copy<8>(packed + to, data + from); });
    else
        for_each<1>(layout_, places_,
                    [=](std::int64_t from, std::int64_t to) { copy<1>(packed + to, data + from); });
}

void PackingLoop::scatter(const std::byte* packed, std::byte* data) const {
    if (element_bytes_ == 8)
        for_each<8>(layout_, places_,
                    [=](std::int64_t to, std::int64_t from) { copy<8>(data + to, packed + from); });
    else
        for_each<1>(layout_, places_,
                    [=](std::int64_t to, std::int64_t from) { copy<1>(data + to, packed + from); });
}

namespace {

/// What programs send in blocks is numbers; only blocks that hold no whole ones are made of bytes.
struct Element {
    MPI_Datatype type;
    int bytes;
};

Element element_of(const Layout& layout) {
    if (layout.block_bytes % 8 == 0) return {MPI_DOUBLE, 8};
    return {MPI_BYTE, 1};
}

MPI_Datatype vector_of(const Layout& layout) {
    const Element element = element_of(layout);
    const auto stride = static_cast<int>(layout.stride_bytes / element.bytes);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    mpi::check(
        MPI_Type_vector(static_cast<int>(layout.blocks), static_cast<int>(layout.block_bytes / element.bytes),
                        stride, element.type, &made),
        "MPI_Type_vector");
    return made;
}

/// Places listed one by one, whether or not a vector has the same.
MPI_Datatype indexed_of(const Layout& layout) {
    const Element element = element_of(layout);
    const std::vector<int> lengths(static_cast<std::size_t>(layout.blocks),
                                   static_cast<int>(layout.block_bytes / element.bytes));
    std::vector<int> places(lengths.size());
    for (std::size_t i = 0; i < places.size(); ++i)
        places[i] = static_cast<int>(layout.begin_of(static_cast<std::int64_t>(i)) / element.bytes);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    mpi::check(
        MPI_Type_indexed(static_cast<int>(layout.blocks), lengths.data(), places.data(), element.type, &made),
        "MPI_Type_indexed");
    return made;
}

}  // namespace

MessageEncoding::MessageEncoding(const Config& config, Side which) : message_bytes_(config.message_bytes) {
    const Shape &mine = config.shape(which), *blocks = config.in_blocks();
    const bool in_loop = config.pack == Pack::loop && blocks != nullptr;
    // One piece needs no packing, and may receive what was packed (MPI-4.1 section 5.2).
    const bool in_piece = mine.datatype == Datatype::contiguous && blocks != nullptr;
    if (in_piece || in_loop) {
        const Element element = element_of(blocks->layout);
        numbers_ = {element.type, static_cast<int>(config.message_bytes / element.bytes)};
        if (in_piece) return;
        loop_.emplace(mine.layout, element.bytes, mine.datatype != Datatype::vector);
        packed_bytes_ = static_cast<int>(config.message_bytes);
        packs_ = true;
        return;
    }
    packs_ = config.pack == Pack::mpi_pack;
    if (blocks == nullptr && !packs_) return;
    type_ = mine.datatype == Datatype::vector ? vector_of(mine.layout) : indexed_of(mine.layout);
    mpi::check(MPI_Type_commit(&type_), "MPI_Type_commit");
    if (packs_) mpi::check(MPI_Pack_size(1, type_, MPI_COMM_WORLD, &packed_bytes_), "MPI_Pack_size");
}

MessageEncoding::~MessageEncoding() {
    if (type_ != MPI_DATATYPE_NULL) MPI_Type_free(&type_);
}

std::optional<std::string> MessageEncoding::allocate(memory::Request like) {
    if (!packs_) return std::nullopt;
    like.bytes = static_cast<std::size_t>(packed_bytes_);
    like.offset_bytes = 0;
    like.touch = memory::Touch::write;
    try {
        packed_.emplace(like);
    } catch (const std::exception& error) {
        return "memory to pack in: " + std::string(error.what());
    }
    return std::nullopt;
}

}  // namespace slowpath::p2p
