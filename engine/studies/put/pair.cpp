// SPDX-License-Identifier: Apache-2.0
#include "put/pair.hpp"

#include <array>

#include "mpi/session.hpp"
#include "mpi/tags.hpp"
#include "mpi/together.hpp"

namespace slowpath::put {
namespace {

bool share_a_node(MPI_Comm communicator) {
    MPI_Comm node = MPI_COMM_NULL;
    int size = 0;
    mpi::check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node),
               "MPI_Comm_split_type");
    mpi::check(MPI_Comm_size(node, &size), "MPI_Comm_size");
    mpi::check(MPI_Comm_free(&node), "MPI_Comm_free");
    return size == 2;
}

}  // namespace

Pair::Pair(MPI_Comm communicator) {
    int rank = 0, size = 0;
    mpi::check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const bool mine = rank == 0 || rank == size - 1;
    mpi::check(MPI_Comm_split(communicator, mine ? 0 : MPI_UNDEFINED, rank, &own_), "MPI_Comm_split");
    if (!mine) return;
    mpi::check(MPI_Comm_set_errhandler(own_, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi::check(MPI_Comm_rank(own_, &rank_), "MPI_Comm_rank");
    one_node_ = share_a_node(own_);
}

std::optional<std::string> Pair::first_text(const std::optional<std::string>& mine) const {
    return mpi::first_text(own_, mine);
}

std::int64_t Pair::of_origin(std::int64_t mine) const {
    constexpr std::array ranks{origin, target};
    return mpi::decision_of_first(own_, ranks, mine);
}

std::int64_t Pair::of_origin_between(const std::function<void()>& compute) const {
    std::int64_t number = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Irecv(&number, 1, MPI_INT64_T, origin, mpi::tag::decision, own_, &request), "MPI_Irecv");
    for (int here = 0; here == 0;) {
        compute();
        mpi::check(MPI_Test(&request, &here, MPI_STATUS_IGNORE), "MPI_Test");
    }
    return number;
}

void Pair::barrier() const {
    mpi::Barrier(own_, {origin, target}).wait();
}

void Pair::release() {
    if (takes_part()) mpi::check(MPI_Comm_free(&own_), "MPI_Comm_free");
}

}  // namespace slowpath::put
