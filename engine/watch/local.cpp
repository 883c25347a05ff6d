// SPDX-License-Identifier: Apache-2.0
#include "watch/local.hpp"

#include <algorithm>
#include <atomic>

#include "watch/events.hpp"
#include "watch/library.hpp"
#include "watch/python.hpp"
#include "watch/repeated.hpp"
#include "watch/sites.hpp"

namespace slowpath::watch {

void meet_local(const Observed& call) {
    if (recording == 0) return;
    Lane& lane = current_lane();
    const SpinGuard guard(lane.lock, lane.is_shared);
    const std::uint32_t site = find_site(lane, call).site;
    layout::Profile* const row =
        find_profile_row(lane, {site, call.call, 0, 0, layout::none, 0, layout::no_row});
    if (row == nullptr) {
        std::atomic_ref(sections().calls[call.call].calls).fetch_add(1, std::memory_order_relaxed);
        return;
    }
    ++row->count;
    if (!lane.is_shared && !is_python_there())  // a place in Python is more than its return address
        keep_place(lane, {.caller = call.caller, .frame = call.frame, .call = call.call, .row = row});
}

float measure_local_ticks() {
    void* const ask = function("Comm_rank");
    if (ask == nullptr) return 0;
    constexpr int blocks = 9, block_calls = 128;
    std::uint64_t took[blocks];
    int rank = 0;
    for (std::uint64_t& block : took) {
        const std::uint64_t since = now_ticks();
        for (int one = 0; one < block_calls; ++one)
            call(ask, library().comm_world, reinterpret_cast<Word>(&rank));
        block = now_ticks() - since;
    }
    std::nth_element(took, took + blocks / 2, took + blocks);
    return static_cast<float>(took[blocks / 2]) / block_calls;
}

}  // namespace slowpath::watch
