// SPDX-License-Identifier: Apache-2.0
/// Bytes that a message carries so that a lost, shifted, stale or foreign byte shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace slowpath {

/// Well-mixed seed from what identifies a message.
std::uint64_t mix(std::uint64_t a, std::uint64_t b);

/// Byte i of the message `seed` is byte (begin + i) of its endless pattern.
/// @param begin Index in the message of the first byte of `to`; a multiple of 8.
/// @param inverted The complement: what a receiver holds before, so that every byte not written is wrong.
void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::uint64_t begin, bool inverted);

}  // namespace slowpath
