// SPDX-License-Identifier: Apache-2.0
#include "replace/choice.hpp"

#include <algorithm>
#include <limits>

#include "mockups/layout.hpp"
#include "mockups/workspace.hpp"

namespace slowpath::replace {

namespace {

using mockups::Collective;

/// Of basic datatypes, so that the addresses say where the data are. Datatypes of the program's own may lead
/// to other bytes: that is correct, and other ranks need not do so.
bool is_own_block(const mockups::Arguments& a, const void* block, const void* all, int count,
                  MPI_Datatype type, int rank) {
    return mockups::is_basic(a.send_type) && mockups::is_basic(a.receive_type) &&
           block == mockups::element(all, std::int64_t{rank} * count, type);
}

/// One buffer to send and to receive, which MPI forbids (MPI-4.1 section 6.1) and libraries refuse, before
/// any message.
bool is_aliased(const mockups::Arguments& a, const mockups::Workspace& workspace) {
    const int rank = workspace.rank();
    switch (a.collective) {
        case Collective::gather:
            return rank == a.root &&
                   is_own_block(a, a.send, a.receive, a.receive_count, a.receive_type, rank);
        case Collective::scatter:
            return rank == a.root && is_own_block(a, a.receive, a.send, a.send_count, a.send_type, rank);
        case Collective::allgather:
            return is_own_block(a, a.send, a.receive, a.receive_count, a.receive_type, rank);
        case Collective::alltoall:
            return is_own_block(a, a.send, a.receive, 0, a.receive_type, rank);
        case Collective::reduce:
            return rank == a.root && a.send == a.receive;
        case Collective::reduce_scatter:
            return a.send == a.receive && a.receive_counts[rank] > 0;
        default:
            return a.send == a.receive;
    }
}

/// Buffers, datatypes and an op that the library will not refuse: a mock-up would find out in its midst, and
/// some ranks would wait for others.
bool is_sound(const mockups::Arguments& a, mockups::Workspace& workspace) {
    const auto usable = [](MPI_Datatype type) { return mockups::is_usable(type); };
    const bool is_root = workspace.rank() == a.root;
    const bool in_place = a.send == MPI_IN_PLACE;
    if (a.collective != Collective::barrier && a.collective != Collective::bcast && is_aliased(a, workspace))
        return false;
    switch (a.collective) {
        case Collective::barrier:
            return true;
        case Collective::gather:
            return (in_place || usable(a.send_type)) && (!is_root || usable(a.receive_type));
        case Collective::scatter:
            return (a.receive == MPI_IN_PLACE || usable(a.receive_type)) && (!is_root || usable(a.send_type));
        case Collective::allgather:
        case Collective::alltoall:
            return (in_place || usable(a.send_type)) && usable(a.receive_type);
        case Collective::bcast:
            return usable(a.receive_type);
        default:
            return usable(a.receive_type) && workspace.bears(a.op, a.receive_type);
    }
}

/// What a call's length is counted in, as mockups::message_bytes has it; a barrier's is MPI_DATATYPE_NULL.
MPI_Datatype counted_in(const mockups::Arguments& a) {
    switch (a.collective) {
        case Collective::gather:
            return a.send == MPI_IN_PLACE ? a.receive_type : a.send_type;
        case Collective::scatter:
            return a.receive == MPI_IN_PLACE ? a.send_type : a.receive_type;
        default:
            return a.receive_type;
    }
}

}  // namespace

void Choices::take(const Table& table) {
    for (const Row& row : table.rows) {
        Counted& counted = rows_.emplace_back();
        counted.row = row;
        Counted*& first = first_.at(static_cast<std::size_t>(row.mockup->of));
        if (first == nullptr) first = &counted;
    }
    for (std::size_t of = 0; of < windows_.size(); ++of) {
        if (first_[of] == nullptr) continue;
        Range bytes{std::numeric_limits<std::int64_t>::max(), 0};
        for (const Counted& one : rows_) {
            if (place(one.row.mockup->of) != of) continue;
            bytes = {std::min(bytes.from, one.row.bytes.from), std::max(bytes.to, one.row.bytes.to)};
        }
        for (const MPI_Datatype type : mockups::basic_types()) {
            const std::int64_t size = mockups::element_bytes(type);
            if (size == 0) continue;
            const std::int64_t most = std::numeric_limits<int>::max();
            const std::int64_t from = bytes.from / size + (bytes.from % size != 0 ? 1 : 0);
            const std::int64_t to = std::min(bytes.to / size, most);
            Window window{type, std::numeric_limits<unsigned int>::max(), 0};  // no count
            if (from <= to)
                window = {type, static_cast<unsigned int>(from), static_cast<unsigned int>(to - from)};
            windows_[of].push_back(window);
        }
    }
}

void Choices::keep_window(const mockups::Arguments& a) {
    LastWindow* const last = last_[place(a.collective)];
    if (last == nullptr) return;
    const MPI_Datatype type = counted_in(a);
    const Window* const known = last->load(std::memory_order_relaxed);
    if (known != nullptr && known->type == type) return;
    for (const Window& one : windows_[place(a.collective)])
        if (one.type == type) last->store(&one, std::memory_order_release);
}

void Choices::clear() {
    first_.fill(nullptr);
    rows_.clear();
}

Counted* Choices::choose(const mockups::Arguments& a, mockups::Workspace*& workspace) {
    // What no communicator is the library refuses, by its own call.
    if (a.communicator == MPI_COMM_NULL) return nullptr;
    workspace = mockups::workspace_of(a.communicator);
    // On an intercommunicator other arguments are significant (MPI-4.1 section 6.2.3): none is looked at.
    if (workspace == nullptr || !workspace->is_of_this_world()) return nullptr;
    if (a.root < 0 || a.root >= workspace->size()) return nullptr;
    const bool is_barrier = a.collective == Collective::barrier;
    if (!is_barrier && !mockups::is_usable(counted_in(a))) return nullptr;
    const std::optional<std::int64_t> bytes = mockups::message_bytes(a);
    if (!bytes || (*bytes == 0 && !is_barrier)) return nullptr;
    for (Counted& one : rows_) {
        const mockups::Mockup& mockup = *one.row.mockup;
        if (mockup.of != a.collective || !one.row.bytes.holds(*bytes)) continue;
        if (!one.row.ranks.holds(workspace->size()) || mockup.obstacle(a) != nullptr) continue;
        if (!is_sound(a, *workspace)) return nullptr;
        if (mockup.sends && !workspace->can_send()) continue;
        one.calls.fetch_add(1, std::memory_order_relaxed);
        return &one;
    }
    return nullptr;
}

}  // namespace slowpath::replace
