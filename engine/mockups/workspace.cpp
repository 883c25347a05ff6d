// SPDX-License-Identifier: Apache-2.0
#include "mockups/workspace.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "mockups/calls.hpp"

namespace slowpath::mockups {

namespace {

constexpr std::size_t alignment = 64;

/// MPI_Finalize has begun: communicators go with the library.
std::atomic<bool> finalizing = false;

int forget(MPI_Comm, int, void* workspace, void*) {
    delete static_cast<Workspace*>(workspace);
    return MPI_SUCCESS;
}

int note_end(MPI_Comm, int, void*, void*) {
    finalizing = true;
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        // The attributes of MPI_COMM_SELF are deleted before anything else in MPI_Finalize (MPI-4.1
        // section 11.4.1).
        int end = MPI_KEYVAL_INVALID;
        SLOWPATH_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, note_end, &end, nullptr);
        SLOWPATH_MPI(Comm_set_attr)(MPI_COMM_SELF, end, nullptr);
        int value = MPI_KEYVAL_INVALID;
        // Not copied to duplicates: what is kept belongs to one communicator.
        SLOWPATH_MPI(Comm_create_keyval)(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr);
        return value;
    }();
    return made;
}

void free_communicator(MPI_Comm& communicator) {
    if (communicator != MPI_COMM_NULL && !finalizing) SLOWPATH_MPI(Comm_free)(&communicator);
}

/// A communicator of ours: its errors are codes, which the caller's error handler is given by the caller.
MPI_Comm ours(MPI_Comm made, int code) {
    if (code != MPI_SUCCESS) return MPI_COMM_NULL;
    SLOWPATH_MPI(Comm_set_errhandler)(made, MPI_ERRORS_RETURN);
    return made;
}

/// Not MPI_Comm_dup: it would call the copy functions of the program's own attributes.
MPI_Comm part_of(MPI_Comm of, int colour, int order) {
    MPI_Comm made = MPI_COMM_NULL;
    const int code = SLOWPATH_MPI(Comm_split)(of, colour, order, &made);
    return ours(made, code);
}

}  // namespace

Workspace& workspace_of(MPI_Comm communicator) {
    void* found = nullptr;
    int is_there = 0;
    SLOWPATH_MPI(Comm_get_attr)(communicator, key(), static_cast<void*>(&found), &is_there);
    if (is_there != 0) return *static_cast<Workspace*>(found);
    // The communicator of its own now, when all ranks are here: not every rank may need it in every call.
    auto* made = new Workspace(communicator, part_of(communicator, 0, 0));
    SLOWPATH_MPI(Comm_set_attr)(communicator, key(), made);
    return *made;
}

Workspace::~Workspace() {
    free_communicator(alone_);
    free_communicator(apart_);
}

int Workspace::raised(int code) const {
    if (code != MPI_SUCCESS) SLOWPATH_MPI(Comm_call_errhandler)(of_, code);
    return code;
}

std::byte* Workspace::memory(Scratch use, std::size_t bytes) {
    Room& room = rooms_.at(static_cast<std::size_t>(use));
    if (room.begin == nullptr || room.bytes < bytes) {
        const std::size_t length = std::max<std::size_t>(bytes, alignment);
        room.held.reset();  // before the longer one: not both at once
        room.held = std::make_unique<std::byte[]>(length + alignment);
        const auto address = reinterpret_cast<std::uintptr_t>(room.held.get());
        room.begin = room.held.get() + (alignment - address % alignment) % alignment;
        room.bytes = length;
    }
    return room.begin;
}

MPI_Comm Workspace::alone() {
    if (alone_ == MPI_COMM_NULL) {
        int rank = 0;
        SLOWPATH_MPI(Comm_rank)(of_, &rank);
        alone_ = part_of(of_, rank, 0);
    }
    return alone_;
}

}  // namespace slowpath::mockups
