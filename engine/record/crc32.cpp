// SPDX-License-Identifier: Apache-2.0
#include "record/crc32.hpp"

#include <array>

namespace slowpath {
namespace {

constexpr std::array<std::uint32_t, 256> table = [] {
    std::array<std::uint32_t, 256> made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
        std::uint32_t value = byte;
        for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1U) ? 0xEDB88320U : 0U);
        made[byte] = value;
    }
    return made;
}();

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
    std::uint32_t value = ~before;
    for (const std::byte byte : bytes)
        value = table[(value ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU] ^ (value >> 8);
    return ~value;
}

}  // namespace slowpath
