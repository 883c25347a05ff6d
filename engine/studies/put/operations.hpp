// SPDX-License-Identifier: Apache-2.0
/// One MPI call each, with everything but the slot bound: what stands in the innermost loop.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>

#include "mpi/optional.hpp"
#include "put/order.hpp"
#include "put/runner.hpp"

namespace slowpath::put {

/// What the calls of a burst have in common.
struct MpiBurst {
    MPI_Win window;
    MPI_Datatype type;  ///< of both sides, but for PutAcross
    std::int64_t count;
    std::int64_t slot_bytes;
    MPI_Aint first_displacement;
    MPI_Aint slot_displacements;
    OriginMemory memory;
    MPI_Request* requests;  ///< [puts] where the operation makes requests, else null
    SlotOf slot_of;
    std::int64_t puts;
    MPI_Datatype target_type;
};

/// Arguments of a call that depend on the slot.
struct Slot {
    std::byte* data;
    std::byte* result;
    std::byte* comparand;
    MPI_Aint displacement;
};

namespace operation {

struct Put {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const int n = static_cast<int>(b.count);
        return MPI_Put(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window);
    }
};

/// With a datatype for each side. A kind of its own, so that the loop of Put holds no second datatype.
struct PutAcross {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const int n = static_cast<int>(b.count);
        return MPI_Put(s.data, n, b.type, Pair::target, s.displacement, n, b.target_type, b.window);
    }
};

struct Get {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const int n = static_cast<int>(b.count);
        return MPI_Get(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window);
    }
};

struct Accumulate {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const int n = static_cast<int>(b.count);
        return MPI_Accumulate(s.data, n, b.type, Pair::target, s.displacement, n, b.type, MPI_SUM, b.window);
    }
};

struct FetchAndOp {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        return MPI_Fetch_and_op(s.data, s.result, b.type, Pair::target, s.displacement, MPI_SUM, b.window);
    }
};

struct CompareAndSwap {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        return MPI_Compare_and_swap(s.data, s.comparand, s.result, b.type, Pair::target, s.displacement,
                                    b.window);
    }
};

/// The requests are completed together, before the synchronisation.
struct Rput {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t i) {
        const int n = static_cast<int>(b.count);
        return MPI_Rput(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window, &b.requests[i]);
    }
};

#ifdef SLOWPATH_HAVE_RMA_COUNT
struct LargePut {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const MPI_Count n = b.count;
        return MPI_Put_c(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window);
    }
};

struct LargeGet {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const MPI_Count n = b.count;
        return MPI_Get_c(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window);
    }
};

struct LargeAccumulate {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t) {
        const MPI_Count n = b.count;
        return MPI_Accumulate_c(s.data, n, b.type, Pair::target, s.displacement, n, b.type, MPI_SUM,
                                b.window);
    }
};

struct LargeRput {
    static int call(const MpiBurst& b, const Slot& s, std::int64_t i) {
        const MPI_Count n = b.count;
        return MPI_Rput_c(s.data, n, b.type, Pair::target, s.displacement, n, b.type, b.window,
                          &b.requests[i]);
    }
};
#endif

}  // namespace operation
}  // namespace slowpath::put
