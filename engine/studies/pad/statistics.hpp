// SPDX-License-Identifier: Apache-2.0
/// What padding cost, counted; thread-safe. Told at the end of the process.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::pad {

/// A device allocation that succeeded.  @param added_bytes 0 when it was not padded.
void note_device_allocation(std::uintptr_t address, std::size_t added_bytes);

/// To be called before the memory is freed: right after, another thread may get the same address.
/// @return Bytes that padding had added there; 0 for memory that is not known.
std::size_t note_device_free(std::uintptr_t address);

/// The free failed after all.
void undo_device_free(std::uintptr_t address, std::size_t added_bytes);

void note_host_allocation(std::size_t added_bytes);

}  // namespace slowpath::pad
