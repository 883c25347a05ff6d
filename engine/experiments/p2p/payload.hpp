// SPDX-License-Identifier: Apache-2.0
/// Fills and compares messages, in any kind of memory, outside timed regions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/buffer.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

/// The messages of one side, with the gaps in them and up to 64 bytes on either side of them, which no
/// message may touch.
class Payload {
  public:
    Payload(const Config& config, Side which);

    /// Write the message `seed` and mark the bytes around: what a sender sends.
    void fill(memory::Buffer& buffer, std::uint64_t seed) const;
    /// Write the complement of the message `seed` and mark the bytes around: what a receiver holds before.
    void poison(memory::Buffer& buffer, std::uint64_t seed) const;

    struct Result {
        std::int64_t compared_bytes = 0;
        std::int64_t wrong_bytes = 0;
        /// Index of the first wrong byte, from the first byte of the first message on; below 0 or past the
        /// end where a byte around the messages changed.
        std::optional<std::int64_t> first_wrong;
    };
    /// Compare all bytes with the message `seed`, and those in gaps and around with what poison() wrote.
    Result compare(const memory::Buffer& buffer, std::uint64_t seed) const;

  private:
    Layout layout_;
    std::int64_t stride_bytes_;  ///< from one message to the next
    std::int64_t slots_;
    std::int64_t offset_bytes_;
    std::int64_t span_bytes_;
    std::int64_t guard_before_bytes_;
    std::int64_t guard_after_bytes_;

    void mark(memory::Buffer& buffer) const;
    void write_message(memory::Buffer& buffer, std::int64_t at, std::uint64_t seed, bool inverted) const;
    void compare_message(const memory::Buffer& buffer, std::int64_t at, std::uint64_t seed,
                         Result& result) const;
    void compare_guard(const memory::Buffer& buffer, std::int64_t at, std::int64_t bytes,
                       Result& result) const;
};

}  // namespace slowpath::p2p
