// SPDX-License-Identifier: Apache-2.0
#include "mpi/one_clock.hpp"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <string>

#include "core/clock.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

/// Empty where the system does not say.
std::string clock_name() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    std::array<char, 64> space{};
    if (boot.empty() || readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0) return boot;
    return boot + " " + space.data();
}

/// Around a ring the differences of clocks add up to nothing: if no message is early, each clock is within
/// the messages' times of each other one.
bool no_message_is_early(MPI_Comm communicator) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const MonotonicClock clock;
    const std::int64_t sent_ns = clock.now_ns();
    std::int64_t theirs_ns = 0;
    check(MPI_Sendrecv(&sent_ns, 1, MPI_INT64_T, (rank + 1) % size, tag::clock, &theirs_ns, 1, MPI_INT64_T,
                       (rank + size - 1) % size, tag::clock, communicator, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    return theirs_ns <= clock.now_ns();
}

}  // namespace

bool one_clock(MPI_Comm communicator) {
    const std::string mine = clock_name();
    const bool same = !mine.empty() && text_of_root(communicator, mine) == mine;
    const std::array agreed{std::int64_t{no_message_is_early(communicator) && same}};
    return reduce(communicator, agreed, MPI_MIN)[0] == 1;
}

}  // namespace slowpath::mpi
