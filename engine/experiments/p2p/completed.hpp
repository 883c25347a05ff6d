// SPDX-License-Identifier: Apache-2.0
/// A message as the program's calls have it: started and completed apart, or received from whoever sends.
#pragma once

#include <mpi.h>

#include <cstddef>

#include "p2p/parameters.hpp"

namespace slowpath::p2p {

/// A transfer by such calls. What they are is asked while they run: as types, all of them for each pair of
/// lengths would be too many.
template <class Transfer>
struct Otherwise {
    Transfer transfer;
    Completion completion;
    Source source;

    int send(const std::byte* data, int to, int tag) const {
        if (completion == Completion::blocking) return transfer.send(data, to, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_send(data, to, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }
    int receive(std::byte* data, int peer, int tag) const {
        const int from = source == Source::any ? MPI_ANY_SOURCE : peer;
        if (completion == Completion::blocking) return transfer.receive(data, from, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_receive(data, from, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }

  private:
    int complete(MPI_Request& request) const {
        if (completion == Completion::wait) return MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (completion == Completion::waitall) return MPI_Waitall(1, &request, MPI_STATUSES_IGNORE);
        int code = MPI_SUCCESS;
        for (int done = 0; done == 0 && code == MPI_SUCCESS;)
            code = MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        return code;
    }
};

}  // namespace slowpath::p2p
