// SPDX-License-Identifier: Apache-2.0
/// The functions behind the wrappers.
#pragma once

#include <atomic>

#include "watch/call.hpp"

namespace slowpath::watch {

/// Which of the two names of a call.
enum class Prefix : std::uint8_t { mpi, pmpi };

extern std::atomic<void*> known_originals[2][call_count];

/// The next definition of the name after this library's, which may be another tool's. Where no search by name
/// finds one, because scopes are local: what the caller's object has or was linked with, which may be a
/// stand-in of its own (mpi4py has some for calls that an MPI lacks), then the MPI library's. Ends the
/// program as the loader would where there is none.
void* find_original(Prefix prefix, Call call, const void* caller);

inline void* original(Prefix prefix, Call call, const void* caller) {
    void* const known =
        known_originals[static_cast<std::size_t>(prefix)][call].load(std::memory_order_relaxed);
    return known != nullptr ? known : find_original(prefix, call, caller);
}

/// Says that dlsym gave this function of this opened library to the program.
/// @return False: the wrapper has another original, so it cannot stand for this one.
bool take_original(Prefix prefix, Call call, void* found, void* library);

/// Ends the program as the loader does for a symbol that no library has.
[[noreturn]] void end_without(const char* name);

/// The MPI library, opened; nullptr: none is loaded.
void* library_handle();

}  // namespace slowpath::watch
