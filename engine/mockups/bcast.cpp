// SPDX-License-Identifier: Apache-2.0
// A broadcast by other calls. The datatype may be another one on each rank: what is cut in pieces is bytes.
#include <cstring>
#include <vector>

#include "mockups/calls.hpp"
#include "mockups/families.hpp"
#include "mockups/layout.hpp"
#include "mockups/obstacles.hpp"
#include "mockups/parts.hpp"

namespace slowpath::mockups {

namespace {

struct Place {
    int rank;
    int size;
};

Place place(const Arguments& a) {
    return {rank_in(a.communicator), size_of(a.communicator)};
}

/// The message in bytes, loaded where it begins.
int loaded(const Arguments& a, const Place& at, Flat& flat) {
    return at.rank == a.root ? flat.load() : MPI_SUCCESS;
}
int stored(const Arguments& a, const Place& at, Flat& flat) {
    return at.rank == a.root ? MPI_SUCCESS : flat.store();
}

/// Everybody takes all blocks; all but the root's are empty.
int allgatherv(const Arguments& a, Workspace&) {
    const Place at = place(a);
    std::vector<int> counts(static_cast<std::size_t>(at.size));
    const std::vector<int> displacements(counts.size());
    counts[static_cast<std::size_t>(a.root)] = a.receive_count;
    return SLOWPATH_MPI(Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a.receive, counts.data(),
                                    displacements.data(), a.receive_type, a.communicator);
}

int scatter_allgather(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    Flat flat(workspace, Scratch::input, a.receive, a.receive_count, a.receive_type);
    SLOWPATH_STEP(loaded(a, at, flat));
    const int block = (flat.bytes() + at.size - 1) / at.size;
    const auto length = static_cast<std::size_t>(block) * static_cast<std::size_t>(at.size);
    const auto bytes = static_cast<std::size_t>(flat.bytes());
    const bool pads = length != bytes;
    std::byte* const all = pads ? workspace.memory(Scratch::output, length) : flat.data();
    if (pads && at.rank == a.root) std::memcpy(all, flat.data(), bytes);
    std::byte* const mine = all + static_cast<std::ptrdiff_t>(block) * at.rank;
    SLOWPATH_STEP(SLOWPATH_MPI(Scatter)(all, block, MPI_BYTE,
                                        at.rank == a.root ? MPI_IN_PLACE : static_cast<void*>(mine), block,
                                        MPI_BYTE, a.root, a.communicator));
    SLOWPATH_STEP(
        SLOWPATH_MPI(Allgather)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, block, MPI_BYTE, a.communicator));
    if (pads && at.rank != a.root && bytes != 0) std::memcpy(flat.data(), all, bytes);
    return stored(a, at, flat);
}

int scatterv_allgatherv(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    Flat flat(workspace, Scratch::input, a.receive, a.receive_count, a.receive_type);
    SLOWPATH_STEP(loaded(a, at, flat));
    std::vector<int> counts;
    std::vector<int> displacements;
    for (int rank = 0, from = 0; rank < at.size; ++rank) {
        counts.push_back(flat.bytes() / at.size + (rank < flat.bytes() % at.size ? 1 : 0));
        displacements.push_back(from);
        from += counts.back();
    }
    const auto me = static_cast<std::size_t>(at.rank);
    void* const mine = at.rank == a.root ? MPI_IN_PLACE : static_cast<void*>(flat.data() + displacements[me]);
    SLOWPATH_STEP(SLOWPATH_MPI(Scatterv)(flat.data(), counts.data(), displacements.data(), MPI_BYTE, mine,
                                         counts[me], MPI_BYTE, a.root, a.communicator));
    SLOWPATH_STEP(SLOWPATH_MPI(Allgatherv)(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, flat.data(), counts.data(),
                                           displacements.data(), MPI_BYTE, a.communicator));
    return stored(a, at, flat);
}

/// The same bytes as more and smaller elements.
int bytes(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    Flat flat(workspace, Scratch::input, a.receive, a.receive_count, a.receive_type);
    SLOWPATH_STEP(loaded(a, at, flat));
    SLOWPATH_STEP(SLOWPATH_MPI(Bcast)(flat.data(), flat.bytes(), MPI_BYTE, a.root, a.communicator));
    return stored(a, at, flat);
}

/// Padded to the next power of two above, and to a byte for each rank at least.
int padded(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    Flat flat(workspace, Scratch::input, a.receive, a.receive_count, a.receive_type);
    SLOWPATH_STEP(loaded(a, at, flat));
    int length = 1;
    while (length <= flat.bytes() || length < at.size) length *= 2;
    std::byte* const longer = workspace.memory(Scratch::output, static_cast<std::size_t>(length));
    const auto own = static_cast<std::size_t>(flat.bytes());
    if (at.rank == a.root && own != 0) std::memcpy(longer, flat.data(), own);
    SLOWPATH_STEP(SLOWPATH_MPI(Bcast)(longer, length, MPI_BYTE, a.root, a.communicator));
    if (at.rank != a.root && own != 0) std::memcpy(flat.data(), longer, own);
    return stored(a, at, flat);
}

template <int parts>
int split(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    Flat flat(workspace, Scratch::input, a.receive, a.receive_count, a.receive_type);
    SLOWPATH_STEP(loaded(a, at, flat));
    SLOWPATH_STEP(in_parts(flat.bytes(), parts, [&](int from, int length) {
        return SLOWPATH_MPI(Bcast)(flat.data() + from, length, MPI_BYTE, a.root, a.communicator);
    }));
    return stored(a, at, flat);
}

int nonblocking(const Arguments& a, Workspace&) {
    MPI_Request request = MPI_REQUEST_NULL;
    SLOWPATH_STEP(
        SLOWPATH_MPI(Ibcast)(a.receive, a.receive_count, a.receive_type, a.root, a.communicator, &request));
    return SLOWPATH_MPI(Wait)(&request, MPI_STATUS_IGNORE);
}

/// Round k: whoever has the message sends it 2^k ranks on, counted from the root.
int circulant(const Arguments& a, Workspace& workspace) {
    const Place at = place(a);
    const int mine = (at.rank - a.root + at.size) % at.size;
    for (int step = 1; step < at.size; step *= 2) {
        const int to = (at.rank + step) % at.size;
        const int from = (at.rank - step + at.size) % at.size;
        if (mine < step && mine + step < at.size)
            SLOWPATH_STEP(workspace.send(a.receive, a.receive_count, a.receive_type, to));
        else if (mine >= step && mine < 2 * step)
            SLOWPATH_STEP(workspace.receive(a.receive, a.receive_count, a.receive_type, from));
    }
    return MPI_SUCCESS;
}

constexpr Mockup all[] = {
    {"allgatherv", Collective::bcast, unless_counted, allgatherv},
    {"scatter+allgather", Collective::bcast, unless_counted, scatter_allgather},
    {"scatterv+allgatherv", Collective::bcast, unless_counted, scatterv_allgatherv},
    {"circulant", Collective::bcast, unless_counted, circulant, true},
    {"nonblocking", Collective::bcast, unless_counted, nonblocking},
    {"bytes", Collective::bcast, unless_counted, bytes},
    {"padded", Collective::bcast, unless_counted, padded},
    {"split_2", Collective::bcast, unless_counted, split<2>},
    {"split_8", Collective::bcast, unless_counted, split<8>},
};

}  // namespace

std::span<const Mockup> of_bcast() {
    return all;
}

}  // namespace slowpath::mockups
