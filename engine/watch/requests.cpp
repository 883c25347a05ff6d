// SPDX-License-Identifier: Apache-2.0
#include "watch/requests.hpp"

#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

/// 512 thousand open requests at most; more are not followed.
constinit Table<Pending, 256, 1 << 20> requests{};

/// Those of a handle that another one has in the table, by handle and location; the oldest give way.
constexpr std::size_t aside_slots = 4096;
constinit Pending* aside = nullptr;

constinit std::uint32_t last_serial = 0;

Pending& aside_slot(std::uint64_t key, const void* location) {
    // Neighbours in the program's array are neighbours here: none takes the place of another one.
    constexpr unsigned handle_shift = 2, slots_shift = 12;
    static_assert(aside_slots == 1 << slots_shift);
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(location) >> handle_shift;
    return aside[(at ^ at >> slots_shift ^ key * 31) % aside_slots];
}

Pending* put_aside(std::uint64_t key, const void* location) {
    if (aside == nullptr) aside = map_rows<Pending>(aside_slots);
    if (aside == nullptr) return nullptr;
    Pending& slot = aside_slot(key, location);
    slot.key = key;
    return &slot;
}

}  // namespace

std::uint32_t next_serial() {
    if (++last_serial == 0) ++last_serial;
    return last_serial;
}

Pending* remember_request(Word handle, const void* location) {
    const std::uint64_t key = handle + 1;
    Pending* there = requests.find(key);
    if (there == nullptr)
        there = requests.claim(key);
    else if (there->location != location)
        there = put_aside(key, location);
    if (there == nullptr) return nullptr;
    // One by one: zeros for all of it take longer than the rest of this function.
    there->location = location;
    there->stream = {};
    there->order = 0;
    there->is_numbered = true;
    there->post_stands_for = 1;
    return there;
}

Pending* find_request(Word handle, const void* location) {
    Pending* const there = requests.find(handle + 1);
    if (there != nullptr && there->location == location) [[likely]]
        return there;
    if (aside != nullptr) {
        Pending& other = aside_slot(handle + 1, location);
        if (other.key == handle + 1 && other.location == location) return &other;
    }
    return there;
}

void forget_request(Pending* pending) {
    if (aside != nullptr && pending >= aside && pending < aside + aside_slots)
        pending->key = 0;
    else
        requests.erase(pending);
}

void begin_requests() {
    requests.clear();
    unmap_rows(aside, aside_slots);
    aside = nullptr;
    last_serial = 0;
}

}  // namespace slowpath::watch
