// SPDX-License-Identifier: Apache-2.0
#include "replace/choice.hpp"

#include "mockups/layout.hpp"
#include "replace/members.hpp"

namespace slowpath::replace {

namespace {

using mockups::Collective;

/// The library reduces such elements by such an op; a rank by itself asks, so that the answer is no more than
/// a code.
bool bears(const mockups::Arguments& a, Members& members) {
    if (a.op == MPI_OP_NULL) return false;
    if (members.op == a.op && members.type == a.receive_type) return true;
    char nothing = 0;
    const MPI_Comm alone = mockups::workspace_of(a.communicator).alone();
    if (PMPI_Allreduce(MPI_IN_PLACE, &nothing, 0, a.receive_type, a.op, alone) != MPI_SUCCESS) return false;
    members.op = a.op;
    members.type = a.receive_type;
    return true;
}

/// A root, datatypes and an op that the library will not refuse: a mock-up would find out in its midst, and
/// some ranks would wait for others.
bool is_sound(const mockups::Arguments& a, Members& members) {
    if (a.root < 0 || a.root >= members.size) return false;
    const auto usable = [&](MPI_Datatype type) {
        return mockups::is_usable(type, mockups::workspace_of(a.communicator));
    };
    const bool is_root = members.rank == a.root;
    const bool in_place = a.send == MPI_IN_PLACE;
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
            return usable(a.receive_type) && bears(a, members);
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
}

void Choices::clear() {
    first_.fill(nullptr);
    rows_.clear();
}

Counted* Choices::choose(const mockups::Arguments& a) {
    // What no communicator or datatype is the library refuses, by its own call.
    if (a.communicator == MPI_COMM_NULL) return nullptr;
    const std::optional<std::int64_t> bytes = mockups::message_bytes(a);
    if (!bytes || (*bytes == 0 && a.collective != mockups::Collective::barrier)) return nullptr;
    for (Counted& one : rows_) {
        if (one.row.mockup->of != a.collective || !one.row.bytes.holds(*bytes)) continue;
        Members* const members = members_of(a.communicator);
        if (members == nullptr || !members->share_the_table) return nullptr;
        if (!one.row.ranks.holds(members->size) || one.row.mockup->obstacle(a) != nullptr) continue;
        if (!is_sound(a, *members)) return nullptr;
        one.calls.fetch_add(1, std::memory_order_relaxed);
        return &one;
    }
    return nullptr;
}

}  // namespace slowpath::replace
