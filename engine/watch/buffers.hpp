// SPDX-License-Identifier: Apache-2.0
/// What kind of memory a buffer is, and whether MPI has met its allocation before.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::watch {

inline constexpr std::uint32_t no_allocation = 0xffffffff;

struct BufferView {
    std::uint32_t allocation = no_allocation;  ///< row of the section allocations
    std::uint16_t buffer_class = 0;            ///< schema/watch.json, buffer_class
    bool is_first = false;                     ///< first use of this allocation by MPI
    std::uint64_t allocation_bytes = 0;        ///< 0: not known
};

/// An element of the section allocations (schema/watch.json).
struct AllocationRow {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t page_bytes;
    std::uint64_t uses;
    std::uint64_t first_ticks;
    std::uint64_t last_ticks;
    std::uint16_t kind;
    std::int16_t device;
    std::uint16_t buffer_class;
    std::uint16_t alive;
    std::uint32_t site;
    std::uint32_t remainder_bytes;
};
static_assert(sizeof(AllocationRow) == 64);

/// Where the record keeps its rows: to be called when it is open, before the first view. Rows are written in
/// place; `used` grows after a row is whole, `lost` counts those that found no room. Without a call nothing
/// is kept, and views have no allocation.
void keep_allocations(AllocationRow* rows, std::uint32_t capacity, std::uint32_t* used, std::uint32_t* lost);

/// About 10 ns where the allocation is known; one query of the kernel's maps or of the GPU driver where not.
/// @param address Start of the message.  @param bytes Its length; 0 gives an empty view.
BufferView view_buffer(const void* address, std::size_t bytes, std::uint64_t ticks);

/// What the interposed functions say. Each may be called before the record is open, and inside malloc.
void allocated(void* address, std::size_t bytes, std::uint16_t kind, std::size_t page_bytes, int device);
void freed(void* address);

}  // namespace slowpath::watch
