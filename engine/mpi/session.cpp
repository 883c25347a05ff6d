// SPDX-License-Identifier: Apache-2.0
#include "mpi/session.hpp"

#include "core/clock.hpp"
#include "mpi/check.hpp"

namespace slowpath::mpi {

Session::Session() {
    const MonotonicClock clock;
    times_ = process_times();
    times_.entered_ns = clock.now_ns();
    thread_levels_ = initialise();
    times_.initialised_ns = clock.now_ns();
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    check(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
    first_peers_ = meet_peers(MPI_COMM_WORLD);
    times_.duplicate_begin_ns = clock.now_ns();
    check(MPI_Comm_dup(MPI_COMM_WORLD, &control_), "MPI_Comm_dup");
    times_.duplicate_end_ns = clock.now_ns();
    check(MPI_Comm_set_errhandler(control_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    MPI_Comm node = MPI_COMM_NULL;
    check(MPI_Comm_split_type(control_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &node),
          "MPI_Comm_split_type");
    times_.split_end_ns = clock.now_ns();
    check(MPI_Comm_rank(node, &node_rank_), "MPI_Comm_rank");
    check(MPI_Comm_free(&node), "MPI_Comm_free");
}

void Session::finish() {
    check(MPI_Comm_free(&control_), "MPI_Comm_free");
    check(MPI_Finalize(), "MPI_Finalize");
}

// MPI_Finalize waits for the other ranks, which would hang a job in which only one rank has failed.
Session::~Session() = default;

}  // namespace slowpath::mpi
