// SPDX-License-Identifier: Apache-2.0
#include "replace/choice.hpp"

#include <algorithm>
#include <limits>

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

/// Datatypes that calls are made of, and that nobody can free.
constexpr std::size_t most_types = 24;
std::array<MPI_Datatype, most_types> predefined() {
    return {MPI_BYTE,
            MPI_CHAR,
            MPI_SIGNED_CHAR,
            MPI_UNSIGNED_CHAR,
            MPI_SHORT,
            MPI_UNSIGNED_SHORT,
            MPI_INT,
            MPI_UNSIGNED,
            MPI_LONG,
            MPI_UNSIGNED_LONG,
            MPI_LONG_LONG,
            MPI_FLOAT,
            MPI_UNSIGNED_LONG_LONG,
            MPI_DOUBLE,
            MPI_INT8_T,
            MPI_INT16_T,
            MPI_INT32_T,
            MPI_INT64_T,
            MPI_UINT8_T,
            MPI_UINT16_T,
            MPI_UINT32_T,
            MPI_UINT64_T,
            MPI_C_FLOAT_COMPLEX,
            MPI_C_DOUBLE_COMPLEX};
}

/// What a call's length is counted in, as mockups::message_bytes has it; MPI_DATATYPE_NULL: several counts.
MPI_Datatype counted_in(const mockups::Arguments& a) {
    switch (a.collective) {
        case Collective::barrier:
        case Collective::reduce_scatter:
            return MPI_DATATYPE_NULL;
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
        for (const MPI_Datatype type : predefined()) {
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
