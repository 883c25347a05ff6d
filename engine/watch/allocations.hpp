// SPDX-License-Identifier: Apache-2.0
/// What memory the process has, as far as this library saw it made or asked for it.
///
/// Memory is nested: a program's allocator maps a piece and gives parts of it, and a part is registered with
/// the GPU. So there are layers, and the uppermost that holds an address says what it is.
///
/// The rows of the record's section allocations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "watch/buffers.hpp"
#include "watch/intervals.hpp"
#include "watch/layout.hpp"

namespace slowpath::watch {

enum class Layer : std::uint8_t {
    declared,  ///< GPU memory, registered memory, MPI's
    blocks,    ///< of malloc
    mappings,  ///< of mmap and shmat
    regions,   ///< as the kernel's maps have them: what nobody saw being made
};
inline constexpr std::size_t layer_count = 4;

/// memory_kinds of schema/watch.json.
namespace kind {
inline constexpr std::uint16_t unknown = 0, heap = 1, mapping = 2, stack = 3, static_data = 4, shared = 5,
                               file = 6, pinned = 7, device = 8, managed = 9, mpi = 10;
}

/// What is known of one allocation. Never moves, never goes; `generation` grows when it ends.
struct Allocation {
    std::atomic<std::uint32_t> generation;
    Layer layer;
    std::atomic<bool> is_used;  ///< MPI has met it
    std::uint16_t kind;
    std::uint16_t fixed_class;  ///< buffer_class without the start
    std::uint32_t row;          ///< of the record, or no_allocation
    std::uint32_t uses;
    std::uint32_t ask_at;  ///< number of uses at which to ask for its pages again
    std::uint64_t bytes;   ///< 0: not known
    std::uint64_t page_bytes;
    std::uint64_t identity;  ///< the GPU driver's number of it; 0: none
    Link link;               ///< under the lock
};

/// Where an address lies, and for which addresses around the same answer holds.
struct Place {
    Allocation* allocation = nullptr;  ///< nullptr: not known
    Address begin = 0;
    Address end = 0;
    std::uint32_t generation = 0;
    std::uint32_t above = 0;
};

/// Grows when something is put into a layer above: a place in this layer may then be covered.
extern std::atomic<std::uint32_t> made_above_layer[layer_count];
inline std::atomic<std::uint32_t>& made_above(Layer layer) {
    return made_above_layer[static_cast<std::size_t>(layer)];
}

inline bool holds(const Place& place) {
    return place.allocation->generation.load(std::memory_order_acquire) == place.generation &&
           made_above(place.allocation->layer).load(std::memory_order_acquire) == place.above;
}

/// About a hundred ns.
Place find_place(Address address);

struct Made {
    Address begin;
    std::size_t bytes;
    std::uint16_t kind;
    std::size_t page_bytes = 0;
    bool is_length_known = true;
    std::uint64_t identity = 0;
};

/// Whatever was in its way in this layer and in those above has ended.
void put(Layer layer, const Made& made);

/// To be called before the memory is given back: right after, another thread may get the same addresses.
/// @return What was there, for put_back; `begin` is 0 where nothing was.
struct Taken {
    Address begin = 0;
    Address end = 0;
    Index node = 0;
    Layer layer = Layer::declared;
    std::uint16_t kind = kind::unknown;
};
/// @param bytes The length it must have; 0: any.
Taken take(Layer layer, Address begin, std::size_t bytes = 0);
/// It was not given back after all: it is the same allocation again. Else it has ended.
void put_back(const Taken& taken);
void end(const Taken& taken);
/// It grew or shrank where it is, and is the same allocation.
void put_resized(const Taken& taken, std::size_t bytes);

/// These addresses of the layer are gone; an allocation that held more keeps the rest.
void take_range(Layer layer, Address begin, Address end);

/// A region as the kernel has it now: one that only grew is the same allocation.
void put_region(const Made& made);

/// How many blocks begin at this place in a page. The C library's mappings all begin at the same, so nearly
/// every small block is distinguished from them by a table of 1 KiB.
extern std::atomic<std::uint32_t> block_offsets[256];
inline std::atomic<std::uint32_t>& blocks_at_offset(Address begin) {
    return block_offsets[begin / 16 % 256];
}
/// By a table of hashes.
bool may_begin_block(Address begin);

/// Whether a block of malloc may begin there; `false` is sure. One load, seldom two.
inline bool may_be_block(const void* begin) {
    const auto address = reinterpret_cast<Address>(begin);
    return blocks_at_offset(address).load(std::memory_order_acquire) != 0 && may_begin_block(address);
}

/// Length of the allocation at this address in this layer, for tests; 0: none.
std::size_t known_bytes(Layer layer, Address address);

/// A row for memory that MPI meets for the first time.
/// @return no_allocation: no room, or no record.
std::uint32_t new_row(const layout::Allocation& row);

/// In place; nullptr: there is none.
layout::Allocation* row_at(std::uint32_t row);

}  // namespace slowpath::watch
