// SPDX-License-Identifier: Apache-2.0
#include "counting/trace.hpp"

#include <algorithm>

namespace slowpath::counting {

Calls split_calls(std::span<const Traced> trace, const std::function<bool(std::uint64_t)>& own) {
    Calls calls;
    bool inside = false;
    Traced before = 0;
    for (const Traced now : trace) {
        const bool outside = own(address_of(now));
        if (!outside) {
            if (!inside) {
                calls.stepped.push_back(0);
                calls.retired.push_back(0);
            }
            ++calls.stepped.back();
            if (!inside || !is_next_iteration(before, now)) ++calls.retired.back();
            calls.instructions.push_back(address_of(now));
        }
        inside = !outside;
        before = now;
    }
    std::sort(calls.instructions.begin(), calls.instructions.end());
    return calls;
}

}  // namespace slowpath::counting
