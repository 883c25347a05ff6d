// SPDX-License-Identifier: Apache-2.0
/// What is known of this process, one line of JSON an event (docs/how-to/count.md); written as it becomes
/// known, so that a crash loses nothing.  Safe in signal handlers; callers hold the lock.
#pragma once

#include <atomic>
#include <cstdint>

#include "counting/preload/histogram.hpp"

namespace slowpath::counting::preload {

/// One thread writes at a time.  The handler blocks all signals while it holds it.
class Lock {
  public:
    explicit Lock(std::atomic_flag& flag) : flag_(flag) {
        while (flag_.test_and_set(std::memory_order_acquire)) __builtin_ia32_pause();
    }
    ~Lock() { flag_.clear(std::memory_order_release); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

  private:
    std::atomic_flag& flag_;
};

class Record {
  public:
    /// The file's first line.  Again in a child process, which has a file of its own.
    void begin();
    /// Whether begin() was called in this process, and not in its parent.
    bool begun() const;

    void found(const char* library);
    void uncountable(const char* library, const char* reason);
    void call(std::uint64_t number, const Histogram& counted);
    void call_without_count(std::uint64_t number, const char* reason);
    void end(std::uint64_t calls);

    /// Libraries were loaded or unloaded: addresses must be recorded anew before they are used.
    void forget_mappings() { mappings_told_ = false; }

  private:
    void tell_mappings();

    static constexpr std::size_t path_bytes = 4096;
    char path_[path_bytes] = {};
    int process_ = 0;
    bool mappings_told_ = false;
};

}  // namespace slowpath::counting::preload
