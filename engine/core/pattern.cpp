// SPDX-License-Identifier: Apache-2.0
#include "core/pattern.hpp"

#include <algorithm>
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
    std::uint64_t word_index = begin / 8;
    for (std::size_t at = 0; at < to.size(); at += 8, ++word_index) {
        const std::uint64_t word = scramble(seed + word_index) ^ flip;
        std::memcpy(to.data() + at, &word, std::min<std::size_t>(8, to.size() - at));
    }
}

}  // namespace slowpath
