// SPDX-License-Identifier: Apache-2.0
#include "p2p/layout.hpp"

#include <algorithm>
#include <vector>

#include "core/pattern.hpp"

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

}  // namespace slowpath::p2p
