// SPDX-License-Identifier: Apache-2.0
#include "mpi/nodes.hpp"

#include <memory>
#include <numeric>

#include "mpi/check.hpp"

namespace slowpath::mpi {
namespace {

int forget(MPI_Comm, int, void* nodes, void*) {
    delete static_cast<Nodes*>(nodes);
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        int value = MPI_KEYVAL_INVALID;
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr),
              "MPI_Comm_create_keyval");
        return value;
    }();
    return made;
}

}  // namespace

const Nodes& Nodes::of(MPI_Comm communicator) {
    void* kept = nullptr;
    int there = 0;
    check(MPI_Comm_get_attr(communicator, key(), static_cast<void*>(&kept), &there), "MPI_Comm_get_attr");
    if (there != 0) return *static_cast<const Nodes*>(kept);
    std::unique_ptr<Nodes> made(new Nodes(communicator));  // the constructor is private
    check(MPI_Comm_set_attr(communicator, key(), made.get()), "MPI_Comm_set_attr");
    return *made.release();
}

Nodes::Nodes(MPI_Comm communicator) {
    int rank = 0, node_rank = 0, node_size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(node_, &node_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(node_, &node_size), "MPI_Comm_size");
    check(MPI_Comm_split(communicator, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_),
          "MPI_Comm_split");
    if (leads()) members_.resize(static_cast<std::size_t>(node_size));
    check(MPI_Gather(&rank, 1, MPI_INT, members_.data(), 1, MPI_INT, 0, node_), "MPI_Gather");
    if (!leads()) return;
    int leaders = 0;
    check(MPI_Comm_size(leaders_, &leaders), "MPI_Comm_size");
    if (rank == 0) counts_.resize(static_cast<std::size_t>(leaders));
    check(MPI_Gather(&node_size, 1, MPI_INT, counts_.data(), 1, MPI_INT, 0, leaders_), "MPI_Gather");
    ranks_.resize(static_cast<std::size_t>(std::accumulate(counts_.begin(), counts_.end(), 0)));
    std::vector<int> places(counts_.size());
    std::exclusive_scan(counts_.begin(), counts_.end(), places.begin(), 0);
    check(MPI_Gatherv(members_.data(), node_size, MPI_INT, ranks_.data(), counts_.data(), places.data(),
                      MPI_INT, 0, leaders_),
          "MPI_Gatherv");
}

Nodes::~Nodes() {
    if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
    if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

}  // namespace slowpath::mpi
