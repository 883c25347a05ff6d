// SPDX-License-Identifier: Apache-2.0
/// What an .xz stream holds, by the system's liblzma: it is loaded when it is needed, and nothing is linked.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace slowpath::counting {

/// @return The content; empty where the stream is damaged, holds more than 1 GiB, or the system has no
/// liblzma.
std::vector<std::uint8_t> unxz(std::span<const std::uint8_t> stream);

}  // namespace slowpath::counting
