// SPDX-License-Identifier: Apache-2.0
/// Threads of a rank that communicate at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace slowpath::p2p {

/// The calling thread and `threads` - 1 others, which wait between two runs.
class Crew {
  public:
    explicit Crew(int threads);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    int size() const { return static_cast<int>(others_.size()) + 1; }
    /// Call `act(number)` on all threads at once, number 0 on this one.
    /// @return The first code that is not 0.
    template <class Act>
    int run(Act&& act) {
        if (others_.empty()) return act(0);
        return run_all(std::ref(act));
    }

  private:
    int run_all(const std::function<int(int)>& act);
    void work(int number);

    std::vector<std::thread> others_;
    const std::function<int(int)>* act_ = nullptr;
    std::atomic<std::uint32_t> turn_{0};  ///< raised when act_ is there
    std::atomic<int> busy_{0};
    std::atomic<int> code_{0};
    bool over_ = false;
};

}  // namespace slowpath::p2p
