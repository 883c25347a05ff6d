// SPDX-License-Identifier: Apache-2.0
/// A message, a one-sided transfer or the end of one like an earlier one from the same place: what it means
/// need not be worked out again.
#pragma once

#include "watch/observe.hpp"

namespace slowpath::watch {

/// A handle of a datatype, communicator or window is gone, and may come again as another one.
void forget_repeated();

/// Finds `call.repeated`, where an earlier call had these arguments; its place is noted in `call.slot`.
void find_repeated(Lane& lane, Observed& call, const Plan& plan);
/// Of a thread whose calls come so close together that watching them would take too much of its time
/// (find_busy), one in 16 short messages is recorded in windows that are not kept. Of the others nothing but
/// the number is kept, and the time of those that may wait: by what was found, peer, tag, length and place
/// are known. The time of one that returns at once stands for the 15 before.
void thin(Lane& lane, Observed& call, const Plan& plan);
/// How many the time of one that has returned stands for.
void settle_time(Observed& call);
/// Counts one that was thinned.
void observe_thinned(const Observed& call, const Plan& plan, Lane& lane);
/// The same of polls that find nothing, one after the other from one place.
void thin_poll(Lane& lane, Observed& call, const Plan& plan);
/// @return False: it found something, and is to be recorded.
bool observe_thinned_poll(const Observed& call, const Plan& plan, Lane& lane);
/// To be found by the next one.
void keep_vain(const Seen& seen);
/// Puts what was thinned into the profile.
void count_thinned(Lane& lane);
/// To be found by the next of them. @param payload Of the buffer; the message may be shorter.
void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload,
                   const Stream& stream);

/// What observe_send and observe_receive do, for a message that was found and did not fail.
void observe_repeated(const Observed& call, const Plan& plan, Lane& lane);

}  // namespace slowpath::watch
