// SPDX-License-Identifier: Apache-2.0
/// What the processor's caches hold of some memory, made so.
#pragma once

#include <cstddef>

namespace slowpath::memory {

/// Read one byte of each cache line.
void read_lines(const std::byte* begin, std::size_t bytes);

/// Whether flush_lines() can throw anything out on this kind of processor.
bool can_flush();

/// Write back and throw each cache line out of all caches, of all cores; done when it returns.
void flush_lines(const std::byte* begin, std::size_t bytes);

}  // namespace slowpath::memory
