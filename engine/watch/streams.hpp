// SPDX-License-Identifier: Apache-2.0
/// The n-th message from one rank to another with one tag on one communicator: MPI keeps this order, so that
/// both sides count alike.
#pragma once

#include <cstdint>

namespace slowpath::watch {

struct Stream {
    std::uint16_t communicator;  ///< row
    std::int32_t peer;           ///< rank in it
    std::int32_t tag;
    bool is_receive;
    bool is_partitioned;  ///< matched among themselves
};

/// Number of a message that is being sent.
std::uint32_t number_send(const Stream& stream);

/// What a receive was posted for. `peer` and `tag` as any_rank and any_tag where the program gave none.
/// No rank and no special value of any MPI: MPI_PROC_NULL of Open MPI is -2.
inline constexpr std::int32_t any_rank = INT32_MIN + 1, any_tag = INT32_MIN + 1;
inline bool is_any(const Stream& wanted) {
    return wanted.peer == any_rank || wanted.tag == any_tag;
}

/// A receive is posted.
/// @return Its place among all receives of this process, from 1.
std::uint32_t post_receive(const Stream& wanted);

/// Number of the message that a receive gets; layout::not_known where another receive, posted earlier for any
/// source or tag, may have taken it, and what that one got is not seen yet.
/// @param order As post_receive gave it.
std::uint32_t number_receive(const Stream& stream, std::uint32_t order);

/// Whether the number is certain when the receive is posted: source and tag are given, and nothing posted
/// earlier can take its message.
bool is_certain(const Stream& wanted);

/// Where a stream's messages are counted, so that it need not be looked up again.
struct StreamCounter {
    void* counter = nullptr;
    std::size_t capacity = 0;  ///< of the table that it lies in
};

/// Count a message that is sent, or whose receive is posted and certain.
/// @return False: it is not counted, and has to be numbered by the functions above.
bool count_message(const Stream& stream, StreamCounter& known);

/// The last receive of a stream is cancelled: its number goes to the next one.
/// @return False: others follow it.
bool take_back(const Stream& stream, std::uint32_t order);

/// A receive for any source or tag has got its message, or never will.
void settle_receive(std::uint32_t order);

void begin_streams();

}  // namespace slowpath::watch
