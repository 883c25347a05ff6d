// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"

namespace slowpath::mockups {

namespace {

/// What this rank sends; the root that receives in place sends its own block of the receive buffer, or a copy
/// of it.
struct Own {
    const void* data;
    int count;
    MPI_Datatype type;
};

Own own_block(const Arguments& a, int rank) {
    if (a.send != MPI_IN_PLACE) return {a.send, a.send_count, a.send_type};
    return {element(a.receive, std::int64_t{rank} * a.receive_count, a.receive_type), a.receive_count,
            a.receive_type};
}

/// Copied where the call that follows writes over it.
int own_copy(const Arguments& a, Workspace& workspace, int rank, Own& own) {
    own = own_block(a, rank);
    if (a.send != MPI_IN_PLACE) return MPI_SUCCESS;
    void* const kept = room_for(workspace, Scratch::copy, own.count, own.type);
    const void* const from = own.data;
    own.data = kept;
    return copy(workspace, from, kept, own.count, own.type);
}

/// Ranks that are not the root receive what they have no use for.
int allgather(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    Own own{};
    SLOWPATH_STEP(own_copy(a, workspace, rank, own));
    if (rank == a.root)
        return SLOWPATH_MPI(Allgather)(own.data, own.count, own.type, a.receive, a.receive_count,
                                       a.receive_type, a.communicator);
    const Block unused(own.count, own.type);
    return SLOWPATH_MPI(Allgather)(own.data, own.count, own.type,
                                   unused.room(workspace, Scratch::output, size_of(a.communicator)),
                                   unused.count(), unused.type(), a.communicator);
}

int gatherv(const Arguments& a, Workspace&) {
    const int size = size_of(a.communicator);
    std::vector<int> counts;
    std::vector<int> displacements;
    if (rank_in(a.communicator) == a.root)
        for (int rank = 0; rank < size; ++rank) {
            counts.push_back(a.receive_count);
            displacements.push_back(rank * a.receive_count);
        }
    return SLOWPATH_MPI(Gatherv)(a.send, a.send_count, a.send_type, a.receive, counts.data(),
                                 displacements.data(), a.receive_type, a.root, a.communicator);
}

/// Each rank gives its block among zeros.
int reduce(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    const Own own = own_block(a, rank);
    Flat mine(workspace, Scratch::input, const_cast<void*>(own.data), own.count, own.type);
    SLOWPATH_STEP(mine.load());
    const int length = mine.bytes() * size;
    std::byte* const spread = workspace.memory(Scratch::copy, static_cast<std::size_t>(length));
    std::fill_n(spread, length, std::byte{0});
    std::copy_n(mine.data(), mine.bytes(), spread + std::ptrdiff_t{mine.bytes()} * rank);
    if (rank != a.root)
        return SLOWPATH_MPI(Reduce)(spread, nullptr, length, MPI_BYTE, MPI_BOR, a.root, a.communicator);
    Flat whole(workspace, Scratch::output, a.receive, a.receive_count * size, a.receive_type);
    SLOWPATH_STEP(
        SLOWPATH_MPI(Reduce)(spread, whole.data(), length, MPI_BYTE, MPI_BOR, a.root, a.communicator));
    return whole.store();
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(SLOWPATH_MPI(Igather)(a.send, a.send_count, a.send_type, a.receive, a.receive_count,
                                        a.receive_type, a.root, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

constexpr Mockup all[] = {
    {"allgather", Collective::gather, unless_counted, allgather},
    {"gatherv", Collective::gather, unless_counted, gatherv},
    {"reduce", Collective::gather, unless_counted, reduce},
    {"nonblocking", Collective::gather, unless_counted, nonblocking},
};

}  // namespace

std::span<const Mockup> of_gather() {
    return all;
}

}  // namespace slowpath::mockups
