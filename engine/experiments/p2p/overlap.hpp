// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>

#include "core/work.hpp"
#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {

// What is timed in overlap: messages that cross, a computation, and both at once.

/// The computation is the same with and without tests between its slices.
inline constexpr std::int64_t slices = 16;
inline constexpr const char* overlap_calls = "MPI_Irecv, MPI_Isend, MPI_Testall or MPI_Waitall";

using Requests = std::array<MPI_Request, 2>;

/// One end of a pair of messages that cross.
template <class Transfer>
struct Exchange {
    const Transfer& transfer;
    const LiveBuffer*& buffer;
    int peer;
    bool sends;  ///< this end is the sender: what it sends stands in `forth`

    /// @return The first MPI error code that is not MPI_SUCCESS.
    int start(Requests& requests) const {
        std::byte* const out = sends ? buffer->forth : buffer->back;
        std::byte* const in = sends ? buffer->back : buffer->forth;
        buffer = buffer->next;
        if (const int code = transfer.start_receive(in, peer, message_tag, &requests[0]); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        return transfer.start_send(out, peer, message_tag, &requests[1]);
    }
};

inline int wait(Requests& requests) {
    return MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
}

template <class Transfer>
int communicate(const Exchange<Transfer>& exchange, std::int64_t times) {
    Requests requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (std::int64_t i = 0; i < times; ++i) {
        if (const int code = exchange.start(requests); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = wait(requests); code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

inline void compute_alone(std::int64_t slice_steps, std::int64_t times) {
    for (std::int64_t i = 0; i < times * slices; ++i) compute(slice_steps);
}

template <bool tests, class Transfer>
int communicate_and_compute(const Exchange<Transfer>& exchange, std::int64_t slice_steps,
                            std::int64_t times) {
    Requests requests{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    for (std::int64_t i = 0; i < times; ++i) {
        if (const int code = exchange.start(requests); code != MPI_SUCCESS) [[unlikely]]
            return code;
        int done = 0;
        for (std::int64_t slice = 0; slice < slices; ++slice) {
            compute(slice_steps);
            if constexpr (tests) {
                if (done != 0) continue;
                if (const int code = MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done,
                                                 MPI_STATUSES_IGNORE);
                    code != MPI_SUCCESS) [[unlikely]]
                    return code;
            }
        }
        if (const int code = wait(requests); code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

}  // namespace slowpath::p2p
