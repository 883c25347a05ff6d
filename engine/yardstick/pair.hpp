// SPDX-License-Identifier: Apache-2.0
/// What two processes of a node need to move bytes between them: called by both, in the same order.
#pragma once

#include "yardstick/shared_region.hpp"
#include "yardstick/timed.hpp"

namespace slowpath::yardstick {

/// `flag`: a number handed over through one cache line; half of the round trip.
Timed hand_over(SharedRegion& region, Party me);

/// `copy_across`: a flag says that the bytes are there, and the other process copies them out of the shared
/// memory into its own; half of the round trip.  One copy: no message between processes needs fewer.
Timed copy_across(SharedRegion& region, Party me, std::int64_t bytes);

/// `process_vm_readv`: the kernel copies from the other process's own memory; the time of the call.
Timed read_across(SharedRegion& region, Party me, std::int64_t bytes);

}  // namespace slowpath::yardstick
