// SPDX-License-Identifier: Apache-2.0
/// Where the bytes of one message lie: in one piece, or in blocks of equal length with gaps between.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace slowpath::p2p {

/// What stands where no message may write.
inline constexpr std::byte gap_value{0xA5};

struct Layout {
    std::int64_t message_bytes = 0;
    std::int64_t blocks = 1;  ///< blocks * block_bytes == message_bytes
    std::int64_t block_bytes = 0;
    std::int64_t stride_bytes = 0;  ///< from one block to the next; block_bytes where there are no gaps
    std::int64_t shift_bytes = 0;   ///< by which each second block lies further on, so that gaps are unequal

    /// One piece.
    static Layout piece(std::int64_t bytes) { return {bytes, 1, bytes, bytes, 0}; }
    bool contiguous() const { return stride_bytes == block_bytes; }
    /// From the first byte of the message to its last.
    std::int64_t extent_bytes() const { return blocks == 0 ? 0 : begin_of(blocks - 1) + block_bytes; }
    /// Of a block, counted from the first byte of the message.
    std::int64_t begin_of(std::int64_t block) const { return block * stride_bytes + block % 2 * shift_bytes; }
    /// What memory holds when the message `seed` lies in it, gaps included.
    /// @param to Bytes from `begin` on, counted from the first byte of the message; begin + to.size() is at
    /// most extent_bytes().  @param begin A multiple of 8.  @param inverted As in fill_pattern().
    void fill(std::span<std::byte> to, std::int64_t begin, std::uint64_t seed, bool inverted) const;

  private:
    /// Bytes of the message that lie before this place.
    std::int64_t bytes_before(std::int64_t place) const;
};

}  // namespace slowpath::p2p
