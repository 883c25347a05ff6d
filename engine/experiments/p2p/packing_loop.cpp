// SPDX-License-Identifier: Apache-2.0
#include "p2p/packing_loop.hpp"

#include <array>
#include <cstring>

namespace slowpath::p2p {
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

}  // namespace slowpath::p2p
