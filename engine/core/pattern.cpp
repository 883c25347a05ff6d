// SPDX-License-Identifier: Apache-2.0
#include "core/pattern.hpp"

#include <cstring>

namespace slowpath {
namespace {

/// Finaliser of SplitMix64 (Steele, Lea, Flood 2014, doi 10.1145/2660193.2660195).
std::uint64_t scramble(std::uint64_t value) {
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
    value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
    return value ^ (value >> 31);
}

}  // namespace

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    return scramble(scramble(a) + 0x9e3779b97f4a7c15 + b);
}

void fill_pattern(std::span<std::byte> to, std::uint64_t seed, std::uint64_t begin, bool inverted) {
    const std::uint64_t flip = inverted ? ~std::uint64_t{0} : 0;
    const std::uint64_t first = seed + begin / 8;
    const std::size_t words = to.size() / 8, rest = to.size() % 8;
    // Whole words have a loop of their own: a length that varies makes each copy a call.
    for (std::size_t i = 0; i < words; ++i) {
        const std::uint64_t word = scramble(first + i) ^ flip;
        std::memcpy(to.data() + 8 * i, &word, 8);
    }
    const std::uint64_t last = scramble(first + words) ^ flip;
    std::memcpy(to.data() + 8 * words, &last, rest);
}

}  // namespace slowpath
