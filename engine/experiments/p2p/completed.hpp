// SPDX-License-Identifier: Apache-2.0
/// A message as the program's calls have it: started and completed apart, looked for before it is received,
/// or received from whoever sends.
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
        if (!has_request()) return transfer.send(data, to, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_send(data, to, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }
    int receive(std::byte* data, int peer, int tag) const {
        const int from = source == Source::any ? MPI_ANY_SOURCE : peer;
        if (completion == Completion::blocking) return transfer.receive(data, from, tag);
        if (!has_request()) return receive_found(data, from, tag);
        MPI_Request request = MPI_REQUEST_NULL;
        const int code = transfer.start_receive(data, from, tag, &request);
        return code == MPI_SUCCESS ? complete(request) : code;
    }

  private:
    bool has_request() const {
        return completion == Completion::wait || completion == Completion::waitall ||
               completion == Completion::test;
    }
    /// Look for the message first. By its source: MPI_ANY_SOURCE may match another message the second time,
    /// but in these cells no other rank sends any.
    int receive_found(std::byte* data, int from, int tag) const {
        MPI_Message message = MPI_MESSAGE_NULL;
        int code = MPI_SUCCESS;
        if (completion == Completion::probe) code = MPI_Probe(from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (completion == Completion::mprobe)
            code = MPI_Mprobe(from, tag, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        if (completion == Completion::iprobe)
            for (int found = 0; found == 0 && code == MPI_SUCCESS;)
                code = MPI_Iprobe(from, tag, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        if (completion == Completion::improbe)
            for (int found = 0; found == 0 && code == MPI_SUCCESS;)
                code = MPI_Improbe(from, tag, MPI_COMM_WORLD, &found, &message, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
        return message == MPI_MESSAGE_NULL ? transfer.receive(data, from, tag)
                                           : transfer.receive_matched(data, &message);
    }
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
