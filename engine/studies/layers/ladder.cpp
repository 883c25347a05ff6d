// SPDX-License-Identifier: Apache-2.0
#include "layers/ladder.hpp"

#include "layers/burst_loop.hpp"
#include "layers/ladder_calls.hpp"

namespace slowpath::layers {
namespace {

constexpr std::array<Rung, ladder_rung_count> rungs = {{
    {0, "bare store", "a store through a call: address from a table, one length, nothing checked", false},
    {1, "signature", "MPI_Put's eight arguments: counts, predefined datatypes, displacement in units", false},
    {2, "argument checks", "window, epoch, rank, counts, datatypes, equal sizes, displacement and range",
     false},
    {3, "error handler", "every answer is tested, and an error goes to the window's handler", false},
    {4, "thread level", "on entry and on exit: is the library up, is a lock needed?", false},
    {5, "window handle", "from an integer to the window's object, by its kind and a table", false},
    {6, "target lookup", "from rank to process, node, peer and the state of the target's epoch", false},
    {7, "datatype decode", "both datatypes are looked up: committed, size, extent, contiguous?", true},
    {8, "GPU pointer query", "a registered function is asked what memory origin and target are", true},
    {9, "operation counters", "issued and completed puts are counted, for the window and for the target",
     true},
    {10, "dispatch", "through a table of functions: self, shared memory or network", true},
    {11, "generic copy", "the copy goes through the functions for any datatype, down to memcpy", true},
    {12, "request per put", "a record of each put is allocated, and freed by the flush", true},
}};

/// The window of the latest burst, as the ladder's library knows it. Bursts make no call but the puts, so
/// that calls can be counted: a window is attached by its first burst, and again when its epoch has changed.
struct Attached {
    const Window* window = nullptr;
    const Peer* peers = nullptr;
    std::uint32_t open_ranks = 0;
    std::int32_t ranks = 0;
    std::int32_t own_rank = 0;
    std::uint32_t handle = 0;
    bool operator==(const Attached&) const = default;
};
Attached attached;

/// What a rung takes for a window; a handle of 0 when the table of windows is full.
template <int rung>
std::uintptr_t argument_for(const Window* window) {
    if constexpr (rung >= 3) {
        const Attached now{window,        window->peers,    window->open_ranks,
                           window->ranks, window->own_rank, attached.handle};
        if (now != attached) [[unlikely]] {
            if (attached.window != window) slowpath_ladder_detach(attached.handle);
            attached = now;
            attached.handle = slowpath_ladder_attach(window);
        }
    }
    return rung >= 5 ? attached.handle : reinterpret_cast<std::uintptr_t>(window);
}

template <int rung, LadderPut* put>
struct LadderPuts {
    template <Order order>
    static int run(const Burst& given) {
        const Burst burst = given;  // a copy, so that stores through other pointers can't have changed it
        const std::uintptr_t window = argument_for<rung>(burst.window);
        const std::uint64_t unit_bytes = burst.window->peers[burst.target].displacement_unit_bytes;
        return run_puts<order>(burst, unit_bytes, [&](std::uint64_t place) {
            return put(burst.origin + place * unit_bytes, burst.count, burst.origin_type, burst.target,
                       static_cast<std::ptrdiff_t>(place), burst.count, burst.target_type, window);
        });
    }
};

template <int rung, LadderFlush* flush>
void complete(const Burst& burst) {
    flush(burst.target, argument_for<rung>(burst.window));
}

constexpr Design design_of(int rung, std::array<RunPuts, orders> puts, void (*synchronise)(const Burst&)) {
    const Rung& that = rungs[static_cast<std::size_t>(rung)];
    return {.name = "ladder",
            .meaning = that.meaning,
            .call = Call::library,
            .checked = rung >= 2,
            .rung = rung,
            .puts = puts,
            .synchronise = synchronise,
            .takes_datatypes = that.takes_datatypes};
}

#define SLOWPATH_RUNG(rung)                                                        \
    design_of(rung, in_all_orders<LadderPuts<rung, slowpath_ladder_put_##rung>>(), \
              complete<rung, slowpath_ladder_flush_##rung>)

constexpr std::array<Design, ladder_rung_count> ladder = {
    design_of(0, in_all_orders<SmallPuts<slowpath_ladder_put_0, false>>(),
              complete<0, slowpath_ladder_flush_0>),
    SLOWPATH_RUNG(1),
    SLOWPATH_RUNG(2),
    SLOWPATH_RUNG(3),
    SLOWPATH_RUNG(4),
    SLOWPATH_RUNG(5),
    SLOWPATH_RUNG(6),
    SLOWPATH_RUNG(7),
    SLOWPATH_RUNG(8),
    SLOWPATH_RUNG(9),
    SLOWPATH_RUNG(10),
    SLOWPATH_RUNG(11),
    SLOWPATH_RUNG(12),
};
#undef SLOWPATH_RUNG

}  // namespace

std::span<const Rung> ladder_rungs() {
    return rungs;
}

std::span<const Design> ladder_designs() {
    return ladder;
}

}  // namespace slowpath::layers
