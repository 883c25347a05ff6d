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

/// Ranks that are not the root receive what they have no use for. All pass bytes: with a count sent that is
/// not the count received, Intel MPI's own MPI_Allgather (2021.18, three ranks and more) gives wrong data.
int allgather(const Arguments& a, Workspace& workspace) {
    const int rank = rank_in(a.communicator);
    const int size = size_of(a.communicator);
    const Own own = own_block(a, rank);
    Flat mine(workspace, Scratch::input, const_cast<void*>(own.data), own.count, own.type);
    SLOWPATH_STEP(mine.load());
    const auto length = static_cast<std::size_t>(mine.bytes());
    if (rank != a.root)
        return SLOWPATH_MPI(Allgather)(
            mine.data(), mine.bytes(), MPI_BYTE,
            workspace.memory(Scratch::output, length * static_cast<std::size_t>(size)), mine.bytes(),
            MPI_BYTE, a.communicator);
    std::byte* sent = mine.data();
    if (a.send == MPI_IN_PLACE) {  // which the call writes over
        sent = workspace.memory(Scratch::copy, length);
        std::copy_n(mine.data(), length, sent);
    }
    Flat whole(workspace, Scratch::output, a.receive, a.receive_count * size, a.receive_type);
    SLOWPATH_STEP(SLOWPATH_MPI(Allgather)(sent, mine.bytes(), MPI_BYTE, whole.data(), whole.bytes() / size,
                                          MPI_BYTE, a.communicator));
    return whole.store();
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
