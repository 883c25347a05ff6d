// SPDX-License-Identifier: Apache-2.0
#include "coll/team.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include "mpi/session.hpp"
#include "mpi/tags.hpp"

namespace slowpath::coll {

namespace {

/// Which communicator a rank of `members` comes into.
int colour_of(Group group, int rank, int members) {
    if (rank >= members) return MPI_UNDEFINED;
    if (group == Group::halves) return rank < members / 2 ? 0 : 1;
    return group == Group::strided ? rank % 2 : 0;
}

}  // namespace

Team::Team(const Config& config) : config_(config) {
    int rank = 0, size = 0;
    mpi::check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
    base_ = MPI_COMM_WORLD;
    base_is_ours_ = config.members.value_or(size) != size || config.group == Group::halves ||
                    config.group == Group::strided;
    part_ = colour_of(config.group, rank, config.members.value_or(size));
    if (base_is_ours_) mpi::check(MPI_Comm_split(MPI_COMM_WORLD, part_, rank, &base_), "MPI_Comm_split");
    if (!calls()) return;
    mpi::check(MPI_Comm_rank(base_, &rank_), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(base_, &size_), "MPI_Comm_size");
}

Team::~Team() {
    for (MPI_Comm& communicator : kept_) MPI_Comm_free(&communicator);
    if (calls() && base_is_ours_) MPI_Comm_free(&base_);
}

Place Team::place() const {
    return {config_.collective,   size_, rank_, config_.root_is_last ? size_ - 1 : 0, config_.count(),
            config_.to_neighbours};
}

int Team::make(MPI_Comm& made) {
    // A part of the ranks is fresh as it is; a topology is always made.
    if (config_.group == Group::duplicate || traits(config_.collective).between_neighbours)
        return make_fresh(made);
    made = base_;
    return MPI_SUCCESS;
}

int Team::make_fresh(MPI_Comm& made) {
    made = MPI_COMM_NULL;
    int code = MPI_SUCCESS;
    if (!traits(config_.collective).between_neighbours) {
        code = MPI_Comm_dup(base_, &made);
    } else {
        const std::vector<int> neighbours = neighbours_of(size_, rank_);
        const auto degree = static_cast<int>(neighbours.size());
        code = MPI_Dist_graph_create_adjacent(base_, degree, neighbours.data(), MPI_UNWEIGHTED, degree,
                                              neighbours.data(), MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &made);
    }
    if (code == MPI_SUCCESS) kept_.push_back(made);
    return code;
}

Meeting* meeting_of(MPI_Comm control, int members) {
    static std::map<int, std::unique_ptr<Meeting>> kept;
    if (const auto found = kept.find(members); found != kept.end()) return found->second.get();
    int rank = 0, size = 0;
    mpi::check(MPI_Comm_rank(control, &rank), "MPI_Comm_rank");
    mpi::check(MPI_Comm_size(control, &size), "MPI_Comm_size");
    MPI_Comm callers = control;
    if (members != size)
        mpi::check(MPI_Comm_split(control, rank < members ? 0 : MPI_UNDEFINED, rank, &callers),
                   "MPI_Comm_split");
    auto& made = kept[members];
    if (callers != MPI_COMM_NULL)
        made = std::unique_ptr<Meeting>(new Meeting{callers, mpi::SharedRelease(callers)});
    return made.get();
}

void sleep_outside(MPI_Comm control) {
    using std::chrono::microseconds;
    MPI_Request request = MPI_REQUEST_NULL;
    mpi::check(MPI_Irecv(nullptr, 0, MPI_BYTE, 0, mpi::tag::wake, control, &request), "MPI_Irecv");
    for (microseconds nap(500);; nap = std::min(2 * nap, microseconds(8000))) {
        int done = 0;
        mpi::check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        if (done != 0) return;
        std::this_thread::sleep_for(nap);
    }
}

void wake_outside(MPI_Comm control, int members) {
    int size = 0;
    mpi::check(MPI_Comm_size(control, &size), "MPI_Comm_size");
    for (int rank = members; rank < size; ++rank)
        mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, rank, mpi::tag::wake, control), "MPI_Send");
}

}  // namespace slowpath::coll
