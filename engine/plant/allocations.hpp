// SPDX-License-Identifier: Apache-2.0
/// Writable anonymous mappings of this process, and how often each was used in messages. No memory of its
/// own, one short lock: it is called from within mmap.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plant/clause.hpp"

namespace slowpath::plant {

struct Use {
    bool known = false;         ///< the address lies in a mapping that was seen
    std::uint64_t bytes = 0;    ///< its length
    std::uint64_t earlier = 0;  ///< uses before this one, by calls of this kind
    std::uint64_t newer = 0;    ///< other mappings that were used since its last use; of a first use: all
};

void note_mapping(const void* base, std::size_t bytes);
void forget_mappings(const void* begin, std::size_t bytes);

/// Count a use of the mapping around `address`.
Use use_mapping(const void* address, Call call);

/// Memory that MPI_Alloc_mem gave.
void note_alloc_mem(const void* base, std::size_t bytes);
void forget_alloc_mem(const void* base);

/// Whether the address lies in such memory.
bool is_alloc_mem(const void* address);

}  // namespace slowpath::plant
