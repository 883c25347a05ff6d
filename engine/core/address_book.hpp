// SPDX-License-Identifier: Apache-2.0
/// Where earlier allocations of this process stood: memory at such an address may be known to a registration
/// cache.
#pragma once

#include <cstdint>
#include <vector>

namespace slowpath {

class AddressBook {
  public:
    /// Note an allocation.  @return Whether any byte of it belonged to an earlier one.
    bool note(std::uintptr_t base, std::size_t bytes) {
        const std::uintptr_t end = base + (bytes ? bytes : 1);
        bool reused = false;
        for (const Range& earlier : ranges_) {
            if (earlier.begin <= base && end <= earlier.end) return true;
            reused = reused || (base < earlier.end && earlier.begin < end);
        }
        ranges_.push_back({base, end});
        return reused;
    }

  private:
    struct Range {
        std::uintptr_t begin;
        std::uintptr_t end;
    };
    std::vector<Range> ranges_;
};

}  // namespace slowpath
