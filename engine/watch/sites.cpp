// SPDX-License-Identifier: Apache-2.0
#include "watch/sites.hpp"

#include <unwind.h>

#include <cstring>

#include "watch/clock.hpp"
#include "watch/modules.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constexpr std::uint32_t most_frames = 15;

/// By the hash of the frames.
constexpr std::size_t index_slots = 8192;
constinit std::uint32_t site_index[index_slots]{};
constinit SpinLock site_lock{};
constinit std::uint32_t module_rereads = 0;

struct Walk {
    std::uint64_t caller;
    bool is_past_caller;
    layout::Site site;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* memory) {
    auto& walk = *static_cast<Walk*>(memory);
    const std::uint64_t address = _Unwind_GetIP(context);
    if (address == walk.caller) walk.is_past_caller = true;
    if (!walk.is_past_caller || address == 0 || (walk.site.depth > 0 && is_mpi(address)))
        return _URC_NO_REASON;
    walk.site.frames[walk.site.depth++] = address;
    return walk.site.depth == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// Libraries may come after MPI_Init: write them down before the process can be killed.
void note_new_modules(const layout::Site& site) {
    constexpr std::uint32_t most_rereads = 256;
    for (std::uint32_t frame = 0; frame < site.depth; ++frame) {
        if (is_noted(site.frames[frame]) || module_rereads == most_rereads) continue;
        ++module_rereads;
        return note_modules();
    }
}

std::uint32_t add_site(const layout::Site& site) {
    std::uint64_t hash = site.fortran;
    for (std::uint32_t frame = 0; frame < site.depth; ++frame)
        hash = scatter(hash ^ site.frames[frame]) + frame;
    const SpinGuard guard(site_lock);
    Section<layout::Site>& rows = sections().sites;
    std::size_t at = hash % index_slots;
    for (; site_index[at] != 0; at = (at + 1) % index_slots)
        if (std::memcmp(&rows[site_index[at] - 1], &site, sizeof site) == 0) return site_index[at] - 1;
    layout::Site* row = rows.next();
    if (row == nullptr) return 0;
    *row = site;
    const std::uint32_t number = rows.publish();
    site_index[at] = number + 1;
    return number;
}

[[gnu::noinline]] std::uint32_t unwind(Lane& lane, const Observed& call) {
    const std::uint64_t since = now_ticks();
    Walk walk{reinterpret_cast<std::uint64_t>(call.caller), false, {}};
    _Unwind_Backtrace(step, &walk);
    if (walk.site.depth == 0) {
        walk.site.depth = 1;
        walk.site.frames[0] = walk.caller;
    }
    walk.site.fortran = call.is_fortran;
    note_new_modules(walk.site);
    const std::uint32_t site = add_site(walk.site);
    ++lane.unwound;
    lane.row->own_ticks += now_ticks() - since;
    return site;
}

constexpr std::size_t reach = 8;

std::size_t home_of(const void* caller, const void* frame) {
    return scatter(reinterpret_cast<std::uintptr_t>(caller) * 31 + reinterpret_cast<std::uintptr_t>(frame)) %
           Lane::site_slots;
}

SiteSlot* find(Lane& lane, const void* caller, const void* frame) {
    const std::size_t home = home_of(caller, frame);
    for (std::size_t step = 0; step < reach; ++step) {
        SiteSlot& slot = lane.sites[(home + step) % Lane::site_slots];
        if (slot.caller == caller && slot.frame == frame) return &slot;
    }
    return nullptr;
}

SiteSlot& take_slot(Lane& lane, const void* caller, const void* frame) {
    const std::size_t home = home_of(caller, frame);
    std::size_t chosen = (home + lane.unwound % reach) % Lane::site_slots;
    for (std::size_t step = 0; step < reach; ++step) {
        const std::size_t at = (home + step) % Lane::site_slots;
        if (lane.sites[at].caller == nullptr) {
            chosen = at;
            break;
        }
    }
    lane.sites[chosen] = {caller, frame, 0, 0, 0};
    return lane.sites[chosen];
}

[[gnu::noinline]] SiteSlot& meet_site(Lane& lane, const Observed& call) {
    // A frame address that is never the same twice (fibers, recursion) would unwind every call: then the
    // return address alone names the place.
    constexpr std::uint64_t free_unwinds = 4096, calls_an_unwind = 256;
    const void* frame = call.frame;
    if (lane.unwound > free_unwinds && lane.unwound * calls_an_unwind > lane.row->calls) {
        frame = nullptr;
        if (SiteSlot* slot = find(lane, call.caller, frame)) return *slot;
    }
    const std::uint32_t site = unwind(lane, call);
    SiteSlot& slot = take_slot(lane, call.caller, frame);
    slot.site = site;
    return slot;
}

}  // namespace

SiteSlot& find_site(Lane& lane, const Observed& call) {
    if (SiteSlot* slot = find(lane, call.caller, call.frame)) [[likely]]
        return *slot;
    return meet_site(lane, call);
}

void know_place(Lane& lane, const void* caller, const void* frame) {
    take_slot(lane, caller, frame);
}

void begin_sites() {
    std::memset(site_index, 0, sizeof site_index);
    module_rereads = 0;
    if (sections().sites.next() != nullptr) sections().sites.publish();  // row 0, for what finds no room
}

}  // namespace slowpath::watch
