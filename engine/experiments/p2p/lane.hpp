// SPDX-License-Identifier: Apache-2.0
/// Where one thread of a rank finds its windows of messages.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <vector>

#include "p2p/endpoint.hpp"

namespace slowpath::p2p {

/// One thread's windows of one end.
struct Lane {
    const LiveBuffer* buffer;
    bool is_sender;  ///< what it sends stands in `forth`
    int peer;
    int tag;  ///< of its messages; that of its answers follows
    int in_flight;
    std::int64_t place_bytes;   ///< from the buffer's begin to its first message to receive
    std::int64_t stride_bytes;  ///< from there to the next one; 0: all in one place
    std::vector<MPI_Request> requests;

    int answer_tag() const { return tag + 1; }
    std::byte* out() const { return is_sender ? buffer->forth : buffer->back; }
    std::byte* in() const { return (is_sender ? buffer->back : buffer->forth) + place_bytes; }
};

}  // namespace slowpath::p2p
