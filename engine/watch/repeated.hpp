// SPDX-License-Identifier: Apache-2.0
/// A message, a probe, an exchange, a collective, packing, a one-sided transfer or the end of one like an
/// earlier one from the same place: what it means need not be worked out again.
#pragma once

#include "watch/observe.hpp"

namespace slowpath::watch {

/// A handle of a datatype, communicator or window is gone, and may come again as another one.
void forget_repeated();

/// Finds `call.repeated`, where an earlier call had these arguments; its place is noted in `call.slot`.
void find_repeated(Lane& lane, Observed& call, const Plan& plan);
/// Of a thread whose calls come so close together that watching them would take too much of its time
/// (find_busy), one in 59 short messages is recorded in windows that are not kept. Of the others nothing but
/// the number is kept, and the time of those that may wait: by what was found, peer, tag, length and place
/// are known. The time of one that returns at once stands for the 58 before.
void thin(Lane& lane, Observed& call, const Plan& plan);
/// How long one took that was not interrupted: those after it that are not timed take as long.
void note_time(const Observed& call);
/// Counts one that was thinned.
void observe_thinned(const Observed& call, const Plan& plan, Lane& lane);
/// Of polls in vain, one after the other from one place, and of calls that move nothing, one in some is
/// timed.
void sample(Lane& lane, Observed& call, const Plan& plan);
/// @return False: it was a poll that found something, and is to be recorded.
bool observe_untimed(Observed& call, const Plan& plan, Lane& lane);
/// For the next one.
void keep_place(const Seen& seen);
/// Of a call that is never timed. What another place has in its slot is counted.
CountedPlace& keep_place(Lane& lane, const CountedPlace& place);
/// Puts what was thinned into the profile.
void count_thinned(Lane& lane);
/// The same, and the time of all that was not timed: at the end.
void settle_lane(Lane& lane);
/// To be found by the next of them. @param payload Of the buffer; the message may be shorter.
/// @param arrival Of an exchange, what arrived.
void keep_repeated(const Seen& seen, const layout::Event& event, const Payload& payload, const Stream& stream,
                   const Arriving& arrival = {});

}  // namespace slowpath::watch
