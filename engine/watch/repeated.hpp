// SPDX-License-Identifier: Apache-2.0
/// A send or receive like an earlier one from the same place: what it means need not be worked out again.
#pragma once

#include "watch/observe.hpp"

namespace slowpath::watch {

/// A handle of a datatype or communicator is gone, and may come again as another one.
void forget_repeated();

/// Finds `call.repeated`, where an earlier call had these arguments; its place is noted in `call.slot`.
void find_repeated(Lane& lane, Observed& call);
/// Of a thread that calls without a pause, the time of one in 16 posts of a short message is taken in windows
/// that are not kept: a post does not wait, so that the others take as long. Waits, and calls that may wait,
/// keep their times.
void leave_untimed(Lane& lane, Observed& call);
/// To be found by the next of them. @param payload Of the buffer; the message may be shorter.
void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload,
                   const Stream& stream);

/// What observe_send and observe_receive do, for a call that was found and did not fail.
void observe_repeated(const Observed& call, const Plan& plan, Lane& lane);

}  // namespace slowpath::watch
