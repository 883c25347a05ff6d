// SPDX-License-Identifier: Apache-2.0
/// Who called a Fortran binding. The binding's stub notes its caller and jumps on, so that arguments, hidden
/// lengths and sentinels pass untouched; the call itself is seen where the binding calls C.
#pragma once

#include <cstddef>

#include "watch/observer.hpp"

namespace slowpath::watch {

/// mpi_send_, mpi_send__, mpi_send_f08_, mpi_send_f08ts_ and pmpi_send_ of each name in watch_fortran.inc.
inline constexpr std::size_t fortran_forms = 5;

/// The last call of a Fortran binding in this thread; `caller` is nullptr once a C call has taken it.
struct FortranPlace {
    const void* caller;
    const void* stack;  ///< the stack pointer when the binding was entered
};

#if defined(__x86_64__)
/// fortran.cpp's stubs address it by this name.
extern "C"
    [[gnu::visibility("hidden"),
      gnu::tls_model("initial-exec")]] constinit thread_local FortranPlace slowpath_watch_fortran_place;
/// Whether a C call of MPI was made by the binding that `place` was noted for.
bool is_of_binding(const Observed& call, const FortranPlace& place);
#endif

/// Whether a binding was called that no C call was seen of yet.
inline bool has_fortran_caller() {
#if defined(__x86_64__)
    return slowpath_watch_fortran_place.caller != nullptr;
#else
    return false;
#endif
}

/// Puts the binding's caller in the place of the binding itself.
inline void note_fortran_caller([[maybe_unused]] Observed& call) {
#if defined(__x86_64__)
    if (!has_fortran_caller()) [[likely]]
        return;
    FortranPlace& place = slowpath_watch_fortran_place;
    if (is_of_binding(call, place)) {
        call.caller = place.caller;
        call.frame = place.stack;
    }
    place.caller = nullptr;
#endif
}

}  // namespace slowpath::watch
