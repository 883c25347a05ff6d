// SPDX-License-Identifier: Apache-2.0
#include "p2p/queue.hpp"

#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

/// Beyond those of messages and their answers; MPI_TAG_UB is at least 32767 (MPI-4.1 section 9.1.2).
constexpr int first_tag = message_tag + 100;

}  // namespace

Queue::Queue(Endpoint& endpoint)
    : endpoint_(endpoint),
      unexpected_(endpoint.config().posted == Posted::after),
      backwards_(endpoint.config().open_receive) {
    if (endpoint.roles().side) length_ = backwards_ ? 1 : static_cast<int>(endpoint.config().queue);
}

bool Queue::sends() const {
    return endpoint_.roles().sends() != backwards_;
}

void Queue::send_all() const {
    for (int i = 0; i < length_; ++i)
        mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, endpoint_.roles().peer, first_tag + i, MPI_COMM_WORLD),
                   "MPI_Send");
}

void Queue::post_all() {
    receives_.assign(static_cast<std::size_t>(length_), MPI_REQUEST_NULL);
    for (int i = 0; i < length_; ++i)
        mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, endpoint_.roles().peer, first_tag + i, MPI_COMM_WORLD,
                             &receives_[static_cast<std::size_t>(i)]),
                   "MPI_Irecv");
}

void Queue::fill() {
    if (length_ == 0) return;
    if (!sends()) {
        if (!unexpected_) return post_all();
        // Messages don't overtake each other (MPI-4.1 section 3.5): when the last one is there, all are.
        mpi::check(
            MPI_Probe(endpoint_.roles().peer, first_tag + length_ - 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Probe");
    } else if (unexpected_) {
        send_all();
    }
}

void Queue::drain() {
    if (length_ == 0) return;
    if (sends()) {
        if (!unexpected_) send_all();
        return;
    }
    if (unexpected_) post_all();
    mpi::check(MPI_Waitall(length_, receives_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
}

}  // namespace slowpath::p2p
