// SPDX-License-Identifier: Apache-2.0
/// A lock for short stretches; uncontended one atomic exchange.
///
/// Holding a lock in interposed functions: a signal handler that meets it held by its own thread goes on
/// without it.
#pragma once

#include <sched.h>

#include <atomic>

namespace slowpath::watch {

class SpinLock {
  public:
    void take() {
        for (int turns = 0; held_.exchange(true, std::memory_order_acquire); ++turns)
            if (constexpr int patience = 64; turns >= patience)
                sched_yield();  // its holder may wait for this processor
    }
    void give() { held_.store(false, std::memory_order_release); }

  private:
    std::atomic<bool> held_ = false;
};

/// Holds a lock, if it is needed.
class SpinGuard {
  public:
    explicit SpinGuard(SpinLock& lock, bool is_needed = true) : lock_(is_needed ? &lock : nullptr) {
        if (lock_ != nullptr) lock_->take();
    }
    ~SpinGuard() {
        if (lock_ != nullptr) lock_->give();
    }
    SpinGuard(const SpinGuard&) = delete;
    SpinGuard& operator=(const SpinGuard&) = delete;

  private:
    SpinLock* lock_;
};

/// Holds a lock unless this thread is inside one already.
class Guard {
  public:
    explicit Guard(SpinLock& lock) : lock_(lock), held_(!inside) {
        if (!held_) return;
        inside = true;
        lock_.take();
    }
    ~Guard() {
        if (!held_) return;
        lock_.give();
        inside = false;
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
    bool held() const { return held_; }

  private:
    [[gnu::tls_model("initial-exec")]] static inline thread_local constinit bool inside = false;
    SpinLock& lock_;
    bool held_;
};

}  // namespace slowpath::watch
