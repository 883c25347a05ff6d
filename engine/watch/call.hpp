// SPDX-License-Identifier: Apache-2.0
/// An MPI call as the library sees it, whatever its interface.
///
/// No mpi.h here: one library serves each MPI. On LP64 Linux every argument of an MPI call (address, handle,
/// count) is an integer or a pointer that takes one register or one slot of 8 bytes, so a wrapper passes
/// words on untouched; what a word means is in the call's shape. A handle of 4 bytes (MPICH) has undefined
/// upper halves: see Library::handle.
///
/// The calls that are wrapped, by number: watch_calls.inc, which calls.cmake makes of calls.txt.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::watch {

using Word = std::uintptr_t;

enum class Family : std::uint8_t {
    point_to_point = 1,
    completion,
    collective,
    one_sided,
    communicators,
    datatypes,
    start_and_end,
    files,
    other,
    local,  ///< answered at once from what the library has in memory: counted, never timed (local.hpp)
};

/// What an argument is, by the kinds of the standard's API description. A buffer, count or datatype that the
/// call has only one of is named by its side; one for both sides (MPI_Reduce, MPI_Bcast,
/// MPI_Sendrecv_replace) is `send_`.
enum class Role : std::uint8_t {
    none,
    send_buffer,
    send_count,
    send_counts,   // array by rank
    send_offsets,  // array by rank
    send_datatype,
    send_datatypes,  // array by rank
    receive_buffer,
    receive_count,
    receive_counts,
    receive_offsets,
    receive_datatype,
    receive_datatypes,
    destination,
    source,
    root,
    send_tag,
    receive_tag,
    communicator,
    new_communicator,  // out, or in and out (MPI_Comm_free)
    group,
    new_group,  // out, or in and out
    color,
    key,
    request,        // a pointer: in and out, or out
    request_value,  // in (MPI_Pready, MPI_Request_get_status)
    requests,       // array
    request_count,  // length of the arrays of requests
    status,         // out
    statuses,       // out, array
    flag,           // out
    index,          // out
    indices,        // out, array
    out_count,
    message,  // matched probe, in and out, or out
    window,
    new_window,  // out, or in and out (MPI_Win_free)
    target,
    target_offset,  // MPI_Aint, whatever the call's form
    target_count,
    target_datatype,
    datatype,
    new_datatype,  // out or in and out
    operation,
    partitions,
    partition,
    name,
    info,
    address,  // out: of memory that MPI allocated
    bytes,    // length of memory that MPI allocates, or of a window
    other,
};

/// By number: a position in the calls of calls.txt, by name.
using Call = std::uint16_t;
inline constexpr std::size_t most_arguments = 16;

struct Shape {
    const char* name;  ///< MPI_Send_c
    Family family;
    std::uint8_t arguments;
    bool is_large;  ///< counts and offsets are MPI_Count (8 bytes), else int
    Role roles[most_arguments];
};

/// calls::MPI_Send is the number of MPI_Send.
namespace calls {
enum Number : Call {
#define SLOWPATH_CALL(name, ...) name,
#include "watch_calls.inc"
#undef SLOWPATH_CALL
    count
};
}  // namespace calls

inline constexpr std::size_t call_count = calls::count;

/// By number.
extern const Shape shapes[call_count];

}  // namespace slowpath::watch
