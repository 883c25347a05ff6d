// SPDX-License-Identifier: Apache-2.0
/// Memory as a program gets it from the system, on pages of its own and written once.
#pragma once

#include <cstddef>

#include "memory/buffer.hpp"

namespace slowpath::put {

inline memory::Request program_memory(std::size_t bytes) {
    return {.kind = memory::Kind::host,
            .pages = memory::Pages::system_default,
            .bytes = bytes,
            .offset_bytes = 0,
            .touch = memory::Touch::write,
            .device = 0};
}

}  // namespace slowpath::put
