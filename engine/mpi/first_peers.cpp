// SPDX-License-Identifier: Apache-2.0
#include "mpi/first_peers.hpp"

#include <cstdlib>
#include <stdexcept>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

constexpr const char* first_peers_variable = "SLOWPATH_FIRST_PEERS";

}  // namespace

std::vector<int> peers_in_order(const std::string& order, int rank, int size) {
    std::vector<int> peers;
    if (order == "ascending") {
        for (int peer = 0; peer < size; ++peer)
            if (peer != rank) peers.push_back(peer);
        return peers;
    }
    int steps = 1;
    while (steps < size) steps *= 2;
    for (int step = 1; step < steps; ++step)
        if ((rank ^ step) < size) peers.push_back(rank ^ step);
    return peers;
}

std::vector<Contact> meet_in_order(MPI_Comm communicator, const std::string& order) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const MonotonicClock clock;
    std::vector<Contact> contacts;
    for (const int peer : peers_in_order(order, rank, size)) {
        const std::int64_t mine = rank;
        std::int64_t theirs = -1;
        const std::int64_t begin_ns = clock.now_ns();
        const int code = MPI_Sendrecv(&mine, 1, MPI_INT64_T, peer, tag::first_peers, &theirs, 1, MPI_INT64_T,
                                      peer, tag::first_peers, communicator, MPI_STATUS_IGNORE);
        const std::int64_t end_ns = clock.now_ns();
        check(code, "MPI_Sendrecv");
        if (theirs != peer)
            throw std::runtime_error("the first message from rank " + std::to_string(peer) +
                                     " holds other bytes than it sent");
        contacts.push_back({peer, begin_ns, end_ns});
    }
    return contacts;
}

std::optional<FirstPeers> meet_peers(MPI_Comm world) {
    const char* const text = std::getenv(first_peers_variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    const std::string order = text;
    if (order != "ascending" && order != "xor")
        throw UsageError(std::string(first_peers_variable) + "=" + order +
                         " is no order; take ascending or xor, or unset it");
    return FirstPeers{order, meet_in_order(world, order)};
}

}  // namespace slowpath::mpi
