// SPDX-License-Identifier: Apache-2.0
/// A tiny lock for what interposed functions share: no system call, no memory, and a signal handler that meets
/// it held by its own thread goes on without it.
#pragma once

#include <sched.h>

#include <atomic>

namespace slowpath::watch {

class Lock {
  public:
    void take() {
        for (int tries = 0; flag_.exchange(true, std::memory_order_acquire); ++tries)
            if (tries % 64 == 63) sched_yield();
    }
    void release() { flag_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> flag_{false};
};

/// Holds a lock unless this thread is inside one already.
class Guard {
  public:
    explicit Guard(Lock& lock) : lock_(lock), held_(!inside) {
        if (!held_) return;
        inside = true;
        lock_.take();
    }
    ~Guard() {
        if (!held_) return;
        lock_.release();
        inside = false;
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    bool held() const { return held_; }

  private:
    [[gnu::tls_model("initial-exec")]] static inline thread_local constinit bool inside = false;
    Lock& lock_;
    bool held_;
};

}  // namespace slowpath::watch
