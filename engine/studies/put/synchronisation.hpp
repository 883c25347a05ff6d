// SPDX-License-Identifier: Apache-2.0
/// The ways of completing a burst, as MPI has them (MPI-4.1 section 12.5).
#pragma once

#include <mpi.h>

#include <string_view>

#include "put/pair.hpp"

namespace slowpath::put {

/// A window and the rank on the other side of it.
struct Epoch {
    MPI_Win window;
    MPI_Group peer;  ///< the other rank alone, for pscw
    bool origin;
};

// Each one: begin and end are for all bursts together, on both ranks; open and close for one burst, at the
// origin; serve is the target's part of one burst.
namespace synchronisation {

struct Passive {
    static constexpr bool opens = false, active = false;
    static int begin(const Epoch& e) { return e.origin ? MPI_Win_lock_all(0, e.window) : MPI_SUCCESS; }
    static int end(const Epoch& e) { return e.origin ? MPI_Win_unlock_all(e.window) : MPI_SUCCESS; }
    static int open(const Epoch&) { return MPI_SUCCESS; }
    static int serve(const Epoch&) { return MPI_SUCCESS; }
};

struct FlushAll : Passive {
    static constexpr std::string_view calls = "MPI_Win_flush";
    static int close(const Epoch& e) { return MPI_Win_flush(Pair::target, e.window); }
};

struct FlushLocal : Passive {
    static constexpr std::string_view calls = "MPI_Win_flush_local";
    static int close(const Epoch& e) { return MPI_Win_flush_local(Pair::target, e.window); }
};

struct Lock : Passive {
    static constexpr bool opens = true;
    static constexpr std::string_view calls = "MPI_Win_lock or MPI_Win_unlock";
    static int begin(const Epoch&) { return MPI_SUCCESS; }
    static int end(const Epoch&) { return MPI_SUCCESS; }
    static int open(const Epoch& e) { return MPI_Win_lock(MPI_LOCK_SHARED, Pair::target, 0, e.window); }
    static int close(const Epoch& e) { return MPI_Win_unlock(Pair::target, e.window); }
};

/// A fence ends one burst and begins the next.
struct Fence {
    static constexpr bool opens = false, active = true;
    static constexpr std::string_view calls = "MPI_Win_fence";
    static int begin(const Epoch& e) { return MPI_Win_fence(MPI_MODE_NOPRECEDE, e.window); }
    static int end(const Epoch& e) { return MPI_Win_fence(MPI_MODE_NOSUCCEED, e.window); }
    static int open(const Epoch&) { return MPI_SUCCESS; }
    static int close(const Epoch& e) { return MPI_Win_fence(0, e.window); }
    static int serve(const Epoch& e) { return MPI_Win_fence(0, e.window); }
};

/// Post, start, complete, wait.
struct Pscw {
    static constexpr bool opens = true, active = true;
    static constexpr std::string_view calls = "MPI_Win_start or MPI_Win_complete";
    static int begin(const Epoch&) { return MPI_SUCCESS; }
    static int end(const Epoch&) { return MPI_SUCCESS; }
    static int open(const Epoch& e) { return MPI_Win_start(e.peer, 0, e.window); }
    static int close(const Epoch& e) { return MPI_Win_complete(e.window); }
    static int serve(const Epoch& e) {
        const int code = MPI_Win_post(e.peer, 0, e.window);
        return code == MPI_SUCCESS ? MPI_Win_wait(e.window) : code;
    }
};

}  // namespace synchronisation
}  // namespace slowpath::put
