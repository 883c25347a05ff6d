// SPDX-License-Identifier: Apache-2.0
#include "mpi/barrier.hpp"

#include <sched.h>

#include <algorithm>
#include <array>

#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

constexpr int eager_tests = 200;

}  // namespace

Barrier::Barrier(MPI_Comm communicator, std::vector<int> ranks) : communicator_(communicator) {
    int rank = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    const auto mine = std::find(ranks.begin(), ranks.end(), rank);
    if (mine == ranks.end()) return;
    const auto count = ranks.size();
    const auto index = static_cast<std::size_t>(mine - ranks.begin());
    for (std::size_t distance = 1; distance < count; distance *= 2)
        rounds_.push_back({ranks[(index + distance) % count], ranks[(index + count - distance) % count]});
}

void Barrier::wait() const {
    // One tag does: messages between two ranks don't overtake each other (MPI-4.1 section 3.5).
    for (const Round& round : rounds_)
        check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, round.to, tag::barrier, nullptr, 0, MPI_BYTE, round.from,
                           tag::barrier, communicator_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
}

void Barrier::wait(std::span<std::int64_t> highest) const {
    std::array<std::int64_t, most_numbers> theirs{};
    const auto count = static_cast<int>(highest.size());
    for (const Round& round : rounds_) {
        std::array<MPI_Request, 2> both{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        check(MPI_Irecv(theirs.data(), count, MPI_INT64_T, round.from, tag::barrier, communicator_, &both[0]),
              "MPI_Irecv");
        check(MPI_Isend(highest.data(), count, MPI_INT64_T, round.to, tag::barrier, communicator_, &both[1]),
              "MPI_Isend");
        // Not every library gives its core away while it waits.
        int done = 0;
        for (int i = 0; done == 0; ++i) {
            check(MPI_Testall(2, both.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
            if (done == 0 && i >= eager_tests) sched_yield();
        }
        std::transform(highest.begin(), highest.end(), theirs.begin(), highest.begin(),
                       [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    }
}

}  // namespace slowpath::mpi
