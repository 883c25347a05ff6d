// SPDX-License-Identifier: Apache-2.0
#include "p2p/layout.hpp"

#include <algorithm>
#include <vector>

#include "core/pattern.hpp"

namespace slowpath::p2p {

std::int64_t Layout::bytes_before(std::int64_t place) const {
    return place / stride_bytes * block_bytes + std::min(place % stride_bytes, block_bytes);
}

void Layout::fill(std::span<std::byte> to, std::int64_t begin, std::uint64_t seed, bool inverted) const {
    if (contiguous()) return fill_pattern(to, seed, static_cast<std::uint64_t>(begin), inverted);
    const std::int64_t end = begin + static_cast<std::int64_t>(to.size());
    const std::int64_t from = bytes_before(begin) / 8 * 8;  // fill_pattern() begins at multiples of 8
    std::vector<std::byte> bytes(static_cast<std::size_t>(bytes_before(end) - from));
    fill_pattern(bytes, seed, static_cast<std::uint64_t>(from), inverted);
    std::fill(to.begin(), to.end(), gap_value);
    for (std::int64_t place = begin; place < end;) {
        const std::int64_t within = place % stride_bytes;
        if (within < block_bytes) {
            const std::int64_t length = std::min(block_bytes - within, end - place);
            std::copy_n(bytes.begin() + (bytes_before(place) - from), length, to.begin() + (place - begin));
        }
        place += stride_bytes - within;
    }
}

}  // namespace slowpath::p2p
