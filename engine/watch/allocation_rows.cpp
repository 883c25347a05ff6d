// SPDX-License-Identifier: Apache-2.0
#include "watch/allocation_rows.hpp"

#include "watch/buffers.hpp"
#include "watch/file.hpp"
#include "watch/lock.hpp"

namespace slowpath::watch {
namespace {

constinit SpinLock lock;

}  // namespace

std::uint32_t new_row(const layout::Allocation& row) {
    const Guard guard(lock);
    layout::Allocation* const fresh = guard.held() ? sections().allocations.next() : nullptr;
    if (fresh == nullptr) return no_allocation;
    *fresh = row;
    return sections().allocations.publish();
}

layout::Allocation* row_at(std::uint32_t row) {
    return row == no_allocation ? nullptr : &sections().allocations[row];
}

void row_ended(std::uint32_t row) {
    if (layout::Allocation* const known = row_at(row)) known->alive = 0;
}

}  // namespace slowpath::watch
