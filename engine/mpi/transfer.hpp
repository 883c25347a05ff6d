// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <climits>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "mpi/optional.hpp"

namespace slowpath::mpi {

// The measured calls with one message bound to them: int counts where they suffice, MPI_Count beyond
// INT_MAX.

/// Up to INT_MAX bytes (MPI-4.1 section 3.2).
struct SmallTransfer {
    int bytes;
    int send(const std::byte* data, int to, int tag) const {
        return MPI_Send(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    }
    int receive(std::byte* data, int from, int tag) const {
        return MPI_Recv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int start_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Isend(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    }
    int start_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Irecv(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
    }
    int receive_matched(std::byte* data, MPI_Message* message) const {
        return MPI_Mrecv(data, bytes, MPI_BYTE, message, MPI_STATUS_IGNORE);
    }
    int make_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Send_init(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    }
    int make_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Recv_init(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
    }
};

#ifdef SLOWPATH_HAVE_MPI_COUNT
/// Any length, by the large-count functions (MPI-4.1 section 3.2.1, since MPI-4.0).
struct LargeTransfer {
    MPI_Count bytes;
    int send(const std::byte* data, int to, int tag) const {
        return MPI_Send_c(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD);
    }
    int receive(std::byte* data, int from, int tag) const {
        return MPI_Recv_c(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int start_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Isend_c(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    }
    int start_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Irecv_c(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
    }
    int receive_matched(std::byte* data, MPI_Message* message) const {
        return MPI_Mrecv_c(data, bytes, MPI_BYTE, message, MPI_STATUS_IGNORE);
    }
    int make_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Send_init_c(data, bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, request);
    }
    int make_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Recv_init_c(data, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, request);
    }
};
#endif

/// Whether the library in use has them.
inline bool has_large_counts() {
#ifdef SLOWPATH_HAVE_MPI_COUNT
    return is_there(MPI_Send_c) && is_there(MPI_Irecv_c);
#else
    return false;
#endif
}

/// Call `body` with the transfer for this length: decided before anything is timed.
/// @param bytes At most INT_MAX unless has_large_counts().
template <class Body>
void with_transfer(std::int64_t bytes, Body&& body) {
#ifdef SLOWPATH_HAVE_MPI_COUNT
    if (bytes > INT_MAX) return body(LargeTransfer{static_cast<MPI_Count>(bytes)});
#endif
    body(SmallTransfer{static_cast<int>(bytes)});
}

// The measured calls with one message of a derived datatype bound to them; as in transfer.hpp.

/// Elements of a committed datatype (MPI-4.1 section 5.1).
/// @tparam Count One element of a derived datatype, as a constant of the timed region, or int: basic ones.
template <class Count = std::integral_constant<int, 1>>
struct TypedTransfer {
    MPI_Datatype type;
    Count count{};
    int send(const std::byte* data, int to, int tag) const {
        return MPI_Send(data, count, type, to, tag, MPI_COMM_WORLD);
    }
    int receive(std::byte* data, int from, int tag) const {
        return MPI_Recv(data, count, type, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    int start_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Isend(data, count, type, to, tag, MPI_COMM_WORLD, request);
    }
    int start_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Irecv(data, count, type, from, tag, MPI_COMM_WORLD, request);
    }
    int receive_matched(std::byte* data, MPI_Message* message) const {
        return MPI_Mrecv(data, count, type, message, MPI_STATUS_IGNORE);
    }
    int make_send(const std::byte* data, int to, int tag, MPI_Request* request) const {
        return MPI_Send_init(data, count, type, to, tag, MPI_COMM_WORLD, request);
    }
    int make_receive(std::byte* data, int from, int tag, MPI_Request* request) const {
        return MPI_Recv_init(data, count, type, from, tag, MPI_COMM_WORLD, request);
    }
};

/// One such element, packed by the program into memory of its own (MPI-4.1 section 5.2).
struct PackedTransfer {
    MPI_Datatype type;
    std::byte* packed;
    int capacity;  ///< of `packed`, bytes, as MPI_Pack_size returned
    int send(const std::byte* data, int to, int tag) const {
        int used = 0;
        const int code = MPI_Pack(data, 1, type, packed, capacity, &used, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
        return MPI_Send(packed, used, MPI_PACKED, to, tag, MPI_COMM_WORLD);
    }
    int receive(std::byte* data, int from, int tag) const {
        const int code = MPI_Recv(packed, capacity, MPI_PACKED, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
        int used = 0;
        return MPI_Unpack(packed, capacity, &used, data, 1, type, MPI_COMM_WORLD);
    }
};

}  // namespace slowpath::mpi
