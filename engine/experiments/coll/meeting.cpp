// SPDX-License-Identifier: Apache-2.0
#include "coll/meeting.hpp"

#include <map>
#include <memory>

#include "mpi/check.hpp"

namespace slowpath::coll {

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

}  // namespace slowpath::coll
