// SPDX-License-Identifier: Apache-2.0
/// What the GPU's driver knows of an address.
///
/// What kind of memory a buffer is, and whether MPI has met its allocation before.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watch/intervals.hpp"

namespace slowpath::watch {

struct GpuMemory {
    std::uint16_t kind = 0;  ///< 0: the driver does not know it
    Address begin = 0;
    std::size_t bytes = 0;       ///< of the driver's allocation; 0: not known
    std::uint64_t identity = 0;  ///< another one for each allocation
};

/// Whether a CUDA driver is in the process. It is not loaded if it is not.
bool find_driver();

/// 35 ns for memory that it knows, 507 ns for other memory (H200).
GpuMemory ask_driver(Address address);

inline constexpr std::uint32_t no_allocation = 0xffffffff;

/// Where a buffer begins, 0 to 3, of its class: schema/watch.json.
inline constexpr unsigned start_shift = 6;
inline unsigned start_of(std::uint16_t buffer_class) {
    return buffer_class >> start_shift & 3;
}

/// Pages of 4 KiB, also where the base page is longer.
inline std::uint16_t start_class(Address address) {
    constexpr Address line_bytes = 64, page_bytes = 4096;
    const unsigned start = address % page_bytes == 0 ? 1 : address % line_bytes == 0 ? 2 : 3;
    return static_cast<std::uint16_t>(start << start_shift);
}
inline std::uint16_t with_start(std::uint16_t buffer_class, unsigned start) {
    return static_cast<std::uint16_t>((buffer_class & ~(3U << start_shift)) | start << start_shift);
}

/// So long that it is returned in memory: of two registers, one would be read of several narrower stores at
/// once, and wait for them.
struct alignas(32) BufferView {
    std::uint32_t allocation = no_allocation;  ///< row of the section allocations
    std::uint16_t buffer_class = 0;            ///< schema/watch.json, buffer_class
    bool is_first = false;                     ///< first use of this allocation by MPI
    std::uint64_t allocation_bytes = 0;        ///< 0: not known
};

/// Makes and keeps rows of the section allocations. About 10 ns where the allocation is known; one query of
/// the kernel's maps or of the GPU driver where not.
/// @param address Start of the message.  @param bytes Its length; 0 gives an empty view.
BufferView view_buffer(const void* address, std::size_t bytes);

/// What the interposed functions say. Each may be called before the record is open, and inside malloc.
void allocated(void* address, std::size_t bytes, std::uint16_t kind, std::size_t page_bytes);
void freed(void* address);

}  // namespace slowpath::watch
