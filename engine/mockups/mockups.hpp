// SPDX-License-Identifier: Apache-2.0
/// Collectives made of other calls of the same library: what a library's own must not be slower than.
///
/// Compiled twice: for the engine with MPI_ names, so that whatever is preloaded sees the calls, and for
/// libslowpath-coll.so with PMPI_ names (calls.hpp), so that a mock-up does not replace its own parts.
/// Guidelines: Träff, Gropp, Thakur 2010, doi 10.1109/TPDS.2009.53.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace slowpath::mockups {

enum class Collective : std::uint8_t {
    barrier,
    bcast,
    gather,
    gatherv,
    scatter,
    scatterv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    alltoallw,
    reduce,
    allreduce,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan,
    neighbor_allgather,
    neighbor_allgatherv,
    neighbor_alltoall,
    neighbor_alltoallv,
    neighbor_alltoallw,
};

/// "bcast", as parameters, files and MPI_Bcast have it.
std::string_view name(Collective);
std::optional<Collective> collective_named(std::string_view);

/// What one rank passes to a collective.  What a collective does not have is null, 0 or MPI_DATATYPE_NULL; a
/// bcast's buffer is `receive` on every rank, and what a reduction or a scan reduces is `receive_count`
/// elements of `receive_type` (reduce_scatter: `receive_counts`).
struct Arguments {
    Collective collective;
    const void* send = nullptr;  ///< MPI_IN_PLACE as the caller gave it
    int send_count = 0;
    const int* send_counts = nullptr;
    const int* send_displacements = nullptr;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    const MPI_Datatype* send_types = nullptr;
    void* receive = nullptr;
    int receive_count = 0;
    const int* receive_counts = nullptr;
    const int* receive_displacements = nullptr;
    MPI_Datatype receive_type = MPI_DATATYPE_NULL;
    const MPI_Datatype* receive_types = nullptr;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Comm communicator = MPI_COMM_NULL;
};

/// What mock-ups know of a communicator; freed with it (workspace.hpp).
class Workspace;
/// The communicator's own, made when it is asked for first; local.  nullptr: the library does not know the
/// communicator.
Workspace* workspace_of(MPI_Comm communicator);

/// The same on all ranks of the communicator, whatever their own arguments are.
struct Mockup {
    std::string_view name;  ///< its parts in order: "gather+bcast"
    Collective of;
    /// Why it can't do what this rank asks for (a user op it must not reorder, MPI_IN_PLACE, an
    /// intercommunicator); null: it can.  The answer is the same on all ranks: it rests on nothing that may
    /// differ between ranks.
    const char* (*obstacle)(const Arguments&);
    int (*run)(const Arguments&, Workspace&);  ///< an MPI error code
    bool sends = false;                        ///< messages of its own: only where Workspace::can_send
};

std::span<const Mockup> mockups();
/// nullptr: there is none of this name for this collective.
const Mockup* find(Collective, std::string_view name);

/// The library's own call, blocking.
int call_library(const Arguments&);

/// Bytes of the message as `message_bytes` has it, the same on all ranks: of one block where each rank has a
/// block of its own (their mean where lengths differ).  Missing where not every rank knows it (gatherv,
/// scatterv, alltoallv, alltoallw, neighbours) or the arguments are none that a collective takes.
std::optional<std::int64_t> message_bytes(const Arguments&);

}  // namespace slowpath::mockups
