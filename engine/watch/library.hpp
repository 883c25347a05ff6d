// SPDX-License-Identifier: Apache-2.0
/// The MPI library of the program: which interface it has, its constants, and its own functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "watch/call.hpp"

namespace slowpath::watch {

enum class Interface : std::uint32_t { unknown, mpich, openmpi, abi };

struct Library {
    Interface interface = Interface::unknown;
    bool is_handle_pointer = false;  ///< else 4 bytes
    Word comm_world = 0, comm_self = 0, comm_null = 0, request_null = 0, datatype_null = 0, message_null = 0;
    Word status_ignore = 0, statuses_ignore = 0, in_place = 0, bottom = 0, no_op = 0, replace = 0;
    int any_source = 0, any_tag = 0, proc_null = 0, root = 0, undefined = 0, lock_exclusive = 0;
    std::size_t status_bytes = 0;   ///< of one MPI_Status
    std::size_t source_offset = 0;  ///< in a status
    std::size_t tag_offset = 0;
    std::size_t error_offset = 0;
    char path[512] = {};

    /// A handle as it compares and hashes: MPICH's without the undefined upper half.
    Word handle(Word word) const { return is_handle_pointer ? word : word & 0xffffffff; }
    /// One handle of an array of handles of the program's.
    Word handle_at(const void* array, std::size_t index) const {
        return is_handle_pointer ? static_cast<const Word*>(array)[index]
                                 : static_cast<const std::uint32_t*>(array)[index];
    }
};

/// nullptr: not looked for.
inline constinit std::atomic<const Library*> watched_library{nullptr};
const Library& look_for_library();

/// Valid from the first MPI call on.
inline const Library& library() {
    const Library* const known = watched_library.load(std::memory_order_acquire);
    return known != nullptr ? *known : look_for_library();
}

/// A function of the MPI library by its name without prefix ("Comm_rank"): PMPI_ if there is one, else MPI_.
/// Looked up once for each caller that keeps it; nullptr: the library has none.
void* function(const char* name);

/// Calls it with words; int results of MPI.
template <typename... Words>
int call(void* function, Words... words) {
    return reinterpret_cast<int (*)(Words...)>(function)(words...);
}

}  // namespace slowpath::watch
