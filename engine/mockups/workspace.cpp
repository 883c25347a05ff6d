// SPDX-License-Identifier: Apache-2.0
#include "mockups/workspace.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <numeric>

#include "mockups/calls.hpp"
#include "mockups/process.hpp"

namespace slowpath::mockups {

namespace {

constexpr std::size_t alignment = 64;
constexpr std::size_t long_bytes = std::size_t{64} << 20;
/// Two threads that ask for tags at the same time may both get none.
constexpr int most_attempts = 8;

struct Room {
    std::unique_ptr<std::byte[]> held;
    std::byte* begin = nullptr;
    std::size_t bytes = 0;
};
thread_local std::array<Room, 4> rooms;

int forget(MPI_Comm, int, void* workspace, void*) {
    delete static_cast<Workspace*>(workspace);
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        int value = MPI_KEYVAL_INVALID;
        // Not copied to duplicates: what is kept belongs to one communicator.
        SLOWPATH_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr);
        return value;
    }();
    return made;
}

/// The ranks of a communicator as MPI_COMM_WORLD has them; MPI_UNDEFINED: not of this world.
std::vector<int> world_ranks(MPI_Comm of, int size) {
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> there(ranks.size(), MPI_UNDEFINED);
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    if (SLOWPATH_MPI(Comm_group)(of, &group) != MPI_SUCCESS) return there;
    // MPICH's thread communicators have a rank for each thread, and a group of processes.
    int members = 0;
    SLOWPATH_MPI(Group_size)(group, &members);
    if (members == size) {
        SLOWPATH_MPI(Comm_group)(MPI_COMM_WORLD, &world);
        SLOWPATH_MPI(Group_translate_ranks)(group, size, ranks.data(), world, there.data());
        SLOWPATH_MPI(Group_free)(&world);
    }
    SLOWPATH_MPI(Group_free)(&group);
    return there;
}

}  // namespace

Workspace* workspace_of(MPI_Comm communicator) {
    void* found = nullptr;
    int is_there = 0;
    if (SLOWPATH_MPI(Comm_get_attr)(communicator, key(), static_cast<void*>(&found), &is_there) !=
        MPI_SUCCESS)
        return nullptr;
    if (is_there != 0) return static_cast<Workspace*>(found);
    auto* const made = new Workspace(communicator);
    SLOWPATH_MPI(Comm_set_attr)(communicator, key(), made);
    return made;
}

Workspace::Workspace(MPI_Comm of) : of_(of) {
    int is_inter = 1;
    SLOWPATH_MPI(Comm_test_inter)(of, &is_inter);
    SLOWPATH_MPI(Comm_rank)(of, &rank_);
    SLOWPATH_MPI(Comm_size)(of, &size_);
    if (is_inter != 0) return;
    const std::vector<int> there = world_ranks(of, size_);
    is_of_this_world_ = std::find(there.begin(), there.end(), MPI_UNDEFINED) == there.end();
}

Workspace::~Workspace() {
    release_tag(tag_);
}

int Workspace::raised(int code) const {
    if (code != MPI_SUCCESS) SLOWPATH_MPI(Comm_call_errhandler)(of_, code);
    return code;
}

std::byte* Workspace::memory(Scratch use, std::size_t bytes) {
    Room& room = rooms.at(static_cast<std::size_t>(use));
    if (room.begin == nullptr || room.bytes < bytes) {
        const std::size_t length = std::max<std::size_t>(bytes, alignment);
        room = {};  // before the longer one: not both at once
        room.held = std::make_unique_for_overwrite<std::byte[]>(length + alignment);
        const auto address = reinterpret_cast<std::uintptr_t>(room.held.get());
        room.begin = room.held.get() + (alignment - address % alignment) % alignment;
        room.bytes = length;
    }
    return room.begin;
}

void release_long_memory() {
    for (Room& room : rooms)
        if (room.bytes > long_bytes) room = {};
}

bool Workspace::can_send() {
    if (tag_ >= 0) return true;
    if (!is_of_this_world_ || attempts_ == most_attempts) return false;
    ++attempts_;
    tag_ = claim_tag(of_);
    if (tag_ >= 0) world_ranks_ = world_ranks(of_, size_);
    return tag_ >= 0;
}

int Workspace::in_world(int rank) const {
    return rank == MPI_PROC_NULL ? rank : world_ranks_[static_cast<std::size_t>(rank)];
}

int Workspace::exchange(const void* send, int send_count, MPI_Datatype send_type, int to, void* receive,
                        int receive_count, MPI_Datatype receive_type, int from) {
    return raised(SLOWPATH_MPI(Sendrecv)(send, send_count, send_type, in_world(to), tag_, receive,
                                         receive_count, receive_type, in_world(from), tag_, ours(),
                                         MPI_STATUS_IGNORE));
}

int Workspace::send(const void* data, int count, MPI_Datatype type, int to) {
    return raised(SLOWPATH_MPI(Send)(data, count, type, in_world(to), tag_, ours()));
}

int Workspace::receive(void* data, int count, MPI_Datatype type, int from) {
    return raised(SLOWPATH_MPI(Recv)(data, count, type, in_world(from), tag_, ours(), MPI_STATUS_IGNORE));
}

bool Workspace::bears(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL) return false;
    if (op_ == op && type_ == type) return true;
    if (!reduces(op, type)) return false;
    op_ = op;
    type_ = type;
    return true;
}

}  // namespace slowpath::mockups
