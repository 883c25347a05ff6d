// SPDX-License-Identifier: Apache-2.0
/// Holding a lock in interposed functions: a signal handler that meets it held by its own thread goes on
/// without it.
#pragma once

#include "watch/spin.hpp"

namespace slowpath::watch {

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
