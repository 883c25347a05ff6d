// SPDX-License-Identifier: Apache-2.0
#include "watch/allocation_rows.hpp"

#include "watch/lock.hpp"

namespace slowpath::watch {
namespace {

struct Room {
    AllocationRow* rows = nullptr;
    std::uint32_t capacity = 0;
    std::uint32_t* used = nullptr;
    std::uint32_t* lost = nullptr;
};

constinit Room room;
constinit Lock lock;

}  // namespace

void keep_allocations(AllocationRow* rows, std::uint32_t capacity, std::uint32_t* used, std::uint32_t* lost) {
    room = {rows, capacity, used, lost};
}

std::uint32_t new_row(const AllocationRow& row) {
    const Guard guard(lock);
    if (!guard.held() || room.rows == nullptr) return no_allocation;
    const std::uint32_t at = *room.used;
    if (at >= room.capacity) {
        ++*room.lost;
        return no_allocation;
    }
    room.rows[at] = row;
    __atomic_store_n(room.used, at + 1, __ATOMIC_RELEASE);
    return at;
}

AllocationRow* row_at(std::uint32_t row) {
    return room.rows == nullptr || row >= room.capacity ? nullptr : &room.rows[row];
}

void row_ended(std::uint32_t row) {
    if (AllocationRow* const known = row_at(row)) known->alive = 0;
}

}  // namespace slowpath::watch
