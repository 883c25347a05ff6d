// SPDX-License-Identifier: Apache-2.0
/// What is kept from before a call until after it: the thread's own, so that calls of several threads do not
/// meet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watch/observer.hpp"
#include "watch/plan.hpp"

namespace slowpath::watch {

struct Scratch {
    static constexpr std::size_t inline_requests = 32;
    static constexpr std::size_t status_room = 64;  ///< no interface has a longer one

    std::size_t request_count;  ///< handles kept
    const Word* handles;
    char* statuses;  ///< ours in the place of ignored ones; nullptr: the program has its own
    Word handle;     ///< of a communicator, window, message or datatype that the call takes away

    void* mapped;              ///< room for many requests, which release() may keep for the next call
    std::size_t mapped_bytes;  ///< 0: there is none

    Word inline_handles[inline_requests];
    alignas(16) char inline_statuses[inline_requests * status_room];
};

/// nullptr: there is nothing to keep for this call.
Scratch* prepare(Observed& call, const Plan& plan);
void release(Scratch& scratch);

}  // namespace slowpath::watch
