// SPDX-License-Identifier: Apache-2.0
/// CRC-32 as in zlib, gzip and IEEE 802.3: reflected polynomial 0xEDB88320.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace slowpath {

/// @param before Checksum of what came earlier, 0 at the start.
std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace slowpath
