// SPDX-License-Identifier: Apache-2.0
/// Breakpoints in this process's own instructions (int3, Intel SDM volume 2).  Safe in signal handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace slowpath::counting::preload {

class Breakpoint {
  public:
    std::uint64_t address() const { return address_.load(std::memory_order_relaxed); }

    /// @return Whether the byte could be written: not where the kernel forbids changing code.
    bool place(std::uint64_t address);
    /// The instruction as it was, to be executed once.
    void lift();
    /// Back again, unless it was removed meanwhile.
    void put_back();
    void remove();

  private:
    std::atomic<std::uint64_t> address_{0};
    std::atomic<bool> removed_{false};
    std::uint8_t original_ = 0;
};

/// All of the process; they are never forgotten, since a trap may be under way when one is removed.
class Breakpoints {
  public:
    static constexpr std::size_t most = 64;

    /// @return nullptr: there is none of this address.
    Breakpoint* at(std::uint64_t address);
    /// @return nullptr: there are too many, or it can't be written.
    Breakpoint* place(std::uint64_t address);
    void remove_all();

  private:
    Breakpoint breakpoints_[most];
    std::atomic<std::size_t> count_{0};
};

}  // namespace slowpath::counting::preload
