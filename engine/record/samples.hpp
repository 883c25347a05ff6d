// SPDX-License-Identifier: Apache-2.0
/// Where a timed region puts its times: allocated and written once before it, so that storing is one store.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace slowpath {

class Samples {
  public:
    /// Forget the old samples and make room.
    /// @param capacity Calls of add() at most; the memory is written here, so that no page fault comes later.
    void start(std::size_t capacity) {
        size_ = 0;
        if (capacity <= durations_ns_.size()) return;
        durations_ns_.assign(capacity, -1);
        begins_ns_.assign(capacity, -1);
    }

    void add(std::int64_t begin_ns, std::int64_t end_ns) noexcept {
        durations_ns_[size_] = end_ns - begin_ns;
        begins_ns_[size_] = begin_ns;
        ++size_;
    }
    std::size_t size() const noexcept { return size_; }
    std::span<const std::int64_t> durations_ns() const { return {durations_ns_.data(), size_}; }
    std::span<const std::int64_t> begins_ns() const { return {begins_ns_.data(), size_}; }

  private:
    std::vector<std::int64_t> durations_ns_;
    std::vector<std::int64_t> begins_ns_;
    std::size_t size_ = 0;
};

}  // namespace slowpath
