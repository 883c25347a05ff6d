// SPDX-License-Identifier: Apache-2.0
#include "watch/requests.hpp"

#include <cstdio>
#include <cstring>

#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

/// 512 thousand open requests at most; more are not followed.
constinit Table<Pending, 256, 1 << 20> requests{};

/// Those of a handle that another one has in the table, by handle and location; the oldest give way.
constexpr std::size_t aside_slots = 4096;
constinit Pending* aside = nullptr;

constinit std::uint32_t last_serial = 0;

/// By the row of the site where they were posted; the last one: not known.
constexpr std::uint32_t most_sites = 4096;
constinit std::uint64_t gone[most_sites + 1]{};

constexpr std::size_t started_slots = 1 << 14;
constinit std::uint32_t started_count[started_slots]{};

/// By location; a later one takes the place of an earlier one, whose place is then not known.
struct Thinned {
    const void* location;
    std::uint32_t site;
};
constexpr std::size_t thinned_slots = 4096;
constinit Thinned thinned[thinned_slots]{};
constinit std::uint32_t thinned_open = 0;

/// Neighbours in the program's array are neighbours here: none takes the place of another one.
std::uint64_t spread(const void* location) {
    constexpr unsigned handle_shift = 2, slots_shift = 12;
    const std::uint64_t at = reinterpret_cast<std::uintptr_t>(location) >> handle_shift;
    return at ^ at >> slots_shift;
}

Thinned& thinned_slot(const void* location) {
    return thinned[spread(location) % thinned_slots];
}

Pending& aside_slot(std::uint64_t key, const void* location) {
    return aside[(spread(location) ^ key * 31) % aside_slots];
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
    there->repeated = nullptr;
    std::uint32_t site = 0;
    take_thinned(location, site);  // was never seen to complete
    there->stream = {};
    there->order = 0;
    there->is_numbered = true;
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

std::uint32_t& started(Word handle) {
    return started_count[(handle ^ handle >> 14) % started_slots];
}

void remember_thinned(const void* location, std::uint32_t site) {
    Thinned& slot = thinned_slot(location);
    if (slot.location == nullptr) ++thinned_open;
    slot = {location, site};
}

bool take_thinned(const void* location, std::uint32_t& site) {
    if (thinned_open == 0) return false;
    Thinned& slot = thinned_slot(location);
    if (slot.location != location || location == nullptr) return false;
    site = slot.site;
    slot.location = nullptr;
    --thinned_open;
    return true;
}

void request_gone(std::uint32_t site) {
    ++gone[site < most_sites ? site : most_sites];
}

void note_requests() {
    for (std::uint32_t site = 0; site <= most_sites; ++site) {
        if (gone[site] == 0 && site != most_sites) continue;
        char line[64];
        std::snprintf(line, sizeof line, "%lld %llu",
                      site == most_sites ? -1LL : static_cast<long long>(site),
                      static_cast<unsigned long long>(gone[site]));
        write_text("completed", line);
    }
}

void begin_requests() {
    std::memset(gone, 0, sizeof gone);
    std::memset(started_count, 0, sizeof started_count);
    std::memset(static_cast<void*>(thinned), 0, sizeof thinned);
    thinned_open = 0;
    requests.clear();
    unmap_rows(aside, aside_slots);
    aside = nullptr;
    last_serial = 0;
}

namespace {

template <typename Value>
Value read_at(const void* status, std::size_t offset) {
    Value value;
    std::memcpy(&value, static_cast<const char*>(status) + offset, sizeof value);
    return value;
}

/// The ABI leaves the rest of a status to the library: it is asked.
void ask(const void* status, Arrival& arrival) {
    static void* const get_count = function("Get_count_c");
    static void* const test_cancelled = function("Test_cancelled");
    constexpr Word byte = 0x247;  // MPI_BYTE of the ABI
    std::int64_t count = 0;
    int cancelled = 0;
    const Word words = reinterpret_cast<Word>(status);
    if (get_count != nullptr && call(get_count, words, byte, reinterpret_cast<Word>(&count)) == 0 &&
        count > 0)
        arrival.bytes = static_cast<std::uint64_t>(count);
    if (test_cancelled != nullptr && call(test_cancelled, words, reinterpret_cast<Word>(&cancelled)) == 0)
        arrival.is_cancelled = cancelled != 0;
}

}  // namespace

Arrival read_status(const void* status) {
    const Library& mpi = library();
    Arrival arrival{mpi.any_source, mpi.any_tag, 0,
                    false};  // the only one that is returned: made in its place
    if (status == nullptr) return arrival;
    arrival.source = read_at<std::int32_t>(status, mpi.source_offset);
    arrival.tag = read_at<std::int32_t>(status, mpi.tag_offset);
    if (mpi.interface == Interface::mpich) {
        // mpi.h: count_lo, then count_hi above one bit that says cancelled.
        const auto low = read_at<std::uint32_t>(status, 0), high = read_at<std::uint32_t>(status, 4);
        arrival.bytes = static_cast<std::uint64_t>(high >> 1) << 32 | low;
        arrival.is_cancelled = (high & 1) != 0;
    } else if (mpi.interface == Interface::openmpi) {
        // mpi.h: _cancelled and _ucount behind the three public fields.
        arrival.is_cancelled = read_at<std::int32_t>(status, 12) != 0;
        arrival.bytes = read_at<std::uint64_t>(status, 16);
    } else {
        ask(status, arrival);
    }
    return arrival;
}

}  // namespace slowpath::watch
