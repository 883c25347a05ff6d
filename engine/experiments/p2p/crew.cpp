// SPDX-License-Identifier: Apache-2.0
#include "p2p/crew.hpp"

#include <sched.h>

namespace slowpath::p2p {
namespace {

/// A thread that waits gives its core away so often before it sleeps, since waking it takes tens of
/// microseconds.
constexpr int yields_before_sleep = 2000;

}  // namespace

Crew::Crew(int threads) {
    for (int number = 1; number < threads; ++number) others_.emplace_back(&Crew::work, this, number);
}

Crew::~Crew() {
    over_ = true;
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_all();
    for (std::thread& other : others_) other.join();
}

int Crew::run_all(const std::function<int(int)>& act) {
    act_ = &act;
    code_.store(0, std::memory_order_relaxed);
    busy_.store(static_cast<int>(others_.size()), std::memory_order_relaxed);
    turn_.fetch_add(1, std::memory_order_release);
    turn_.notify_all();
    const int mine = act(0);
    while (busy_.load(std::memory_order_acquire) > 0) sched_yield();
    return mine != 0 ? mine : code_.load(std::memory_order_relaxed);
}

void Crew::work(int number) {
    for (std::uint32_t done = 0;; ++done) {
        for (int i = 0; i < yields_before_sleep && turn_.load(std::memory_order_acquire) == done; ++i)
            sched_yield();
        turn_.wait(done, std::memory_order_acquire);
        if (over_) return;
        if (const int code = (*act_)(number); code != 0) code_.store(code, std::memory_order_relaxed);
        busy_.fetch_sub(1, std::memory_order_release);
    }
}

}  // namespace slowpath::p2p
