// SPDX-License-Identifier: Apache-2.0
/// How often each instruction was executed, in memory that is there before; safe in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::counting::preload {

class Histogram {
  public:
    struct Entry {
        std::uint64_t address = 0;
        std::uint32_t stepped = 0;
        std::uint32_t retired = 0;
    };

    static constexpr std::size_t capacity = std::size_t{1} << 16;

    void add(std::uint64_t address, bool next_iteration) {
        ++stepped_;
        retired_ += !next_iteration;
        Entry* const entry = find(address);
        if (entry == nullptr) return;
        ++entry->stepped;
        entry->retired += !next_iteration;
    }

    void clear() {
        for (std::size_t i = 0; i < used_; ++i) entries_[order_[i]] = Entry{};
        used_ = 0;
        stepped_ = retired_ = 0;
    }

    std::uint64_t stepped() const { return stepped_; }
    std::uint64_t retired() const { return retired_; }
    /// Distinct addresses, in the order of their first execution.  A call with too many of them has the sums
    /// right and the rest of its addresses missing.
    std::size_t size() const { return used_; }
    const Entry& operator[](std::size_t i) const { return entries_[order_[i]]; }

  private:
    Entry* find(std::uint64_t address) {
        constexpr std::uint64_t golden = 0x9e3779b97f4a7c15;  // Knuth, multiplicative hashing
        std::size_t at = (address * golden) >> 48;
        while (entries_[at].address != 0 && entries_[at].address != address) at = (at + 1) % capacity;
        if (entries_[at].address == address) return &entries_[at];
        if (used_ >= capacity / 4 * 3) return nullptr;
        entries_[at].address = address;
        order_[used_++] = static_cast<std::uint32_t>(at);
        return &entries_[at];
    }

    Entry entries_[capacity];
    std::uint32_t order_[capacity];
    std::size_t used_;
    std::uint64_t stepped_;
    std::uint64_t retired_;
};

}  // namespace slowpath::counting::preload
