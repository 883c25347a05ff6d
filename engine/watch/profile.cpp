// SPDX-License-Identifier: Apache-2.0
#include "watch/profile.hpp"

#include <bit>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

struct Words {
    std::uint64_t low, high;
    bool operator==(const Words&) const = default;
};

/// As it lies in memory; not read from there, for a load that is wider than the stores before it waits for
/// them.
Words words(const ProfileKey& key) {
    static_assert(std::endian::native == std::endian::little);
    return {key.site | std::uint64_t{key.call} << 32 | std::uint64_t{key.size_class} << 48 |
                std::uint64_t{key.flags} << 56,
            static_cast<std::uint32_t>(key.peer) | std::uint64_t{key.buffer_class} << 32 |
                std::uint64_t{key.communicator} << 48};
}

Words words(const layout::Profile& row) {
    Words both;
    std::memcpy(&both, &row, sizeof both);
    return both;
}

layout::Profile* find(Lane& lane, const ProfileKey& key, std::size_t& at) {
    const Words sought = words(key);
    at = scatter(sought.low ^ scatter(sought.high)) % Lane::profile_slots;
    for (; lane.profile_index[at] != 0; at = (at + 1) % Lane::profile_slots) {
        layout::Profile& row = lane.profile[lane.profile_index[at] - 1];
        if (words(row) == sought) return &row;
    }
    return nullptr;
}

/// The row of a key, made where there is none and fewer than `most` are.
layout::Profile* find_or_make(Lane& lane, const ProfileKey& key, std::uint32_t most) {
    std::size_t at = 0;
    if (layout::Profile* there = find(lane, key, at)) return there;
    if (lane.profile.used() >= most) return nullptr;
    layout::Profile* row = lane.profile.next();
    std::memcpy(static_cast<void*>(row), &key, sizeof key);
    lane.profile_index[at] = lane.profile.publish() + 1;
    return row;
}

/// Coarser and coarser, as the room is used up.
layout::Profile* find_row(Lane& lane, ProfileKey key) {
    const std::uint32_t capacity = lane.profile.capacity();
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 4)) return row;
    lane.profile.lose(1);
    if (key.peer >= 0 || key.peer <= layout::unknown_ranks) key.peer = layout::others;
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 8)) return row;
    key.site = 0;
    if (layout::Profile* row = find_or_make(lane, key, capacity - capacity / 16)) return row;
    key = {0, key.call, 0, 0, layout::others, 0, layout::no_row};
    return find_or_make(lane, key, capacity);
}

}  // namespace

unsigned duration_bucket(std::uint64_t duration_ns) {
    constexpr unsigned first_doubling = 6, buckets = 48;
    if (duration_ns < 1U << first_doubling) return 0;
    const auto doubling = static_cast<unsigned>(std::bit_width(duration_ns)) - 1;
    // 2^31.5: the middle of the doubling from 2^31.
    constexpr std::uint64_t root = 0xb504f334;
    const std::uint64_t in_first =
        doubling < 31 ? duration_ns << (31 - doubling) : duration_ns >> (doubling - 31);
    const unsigned bucket = 1 + 2 * (doubling - first_doubling) + (in_first >= root ? 1 : 0);
    return bucket < buckets ? bucket : buckets - 1;
}

void count(Lane& lane, const ProfileKey& key, const Counted& what, std::uint32_t* hint) {
    if (lane.profile.capacity() == 0) return;
    layout::Profile* row = nullptr;
    if (hint != nullptr && *hint != 0 && words(lane.profile[*hint - 1]) == words(key)) [[likely]] {
        row = &lane.profile[*hint - 1];
    } else {
        row = find_row(lane, key);
        if (row == nullptr) return;
        if (hint != nullptr) *hint = static_cast<std::uint32_t>(row - &lane.profile[0]) + 1;
    }
    ++row->count;
    row->bytes += what.bytes;
    if (what.allocation_bytes != 0) row->allocation_bytes = what.allocation_bytes;
    if (!what.is_timed) return;
    if (what.ticks < row->least_ticks || row->ticks == 0) row->least_ticks = what.ticks;
    row->ticks += what.ticks * what.stands_for;
    if (what.ticks > row->most_ticks) row->most_ticks = what.ticks;
    row->histogram[duration_bucket(duration_ns(what.ticks))] += what.stands_for;
}

}  // namespace slowpath::watch
