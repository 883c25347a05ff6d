// SPDX-License-Identifier: Apache-2.0
/// The whole of libslowpath-count.so in one process: where the function stands, which calls were met, who is
/// stepping.
#pragma once

#include <link.h>
#include <signal.h>

#include <atomic>
#include <cstdint>

#include "counting/preload/breakpoint.hpp"
#include "counting/preload/record.hpp"
#include "counting/stepper.hpp"

namespace slowpath::counting::preload {

/// One thread inside a call.
struct Thread {
    bool inside = false;
    std::uint64_t number = 0;  ///< of the call, from 1
    std::uint64_t return_address = 0;
    std::uint64_t stack_at_return = 0;
    Breakpoint* lifted = nullptr;  ///< to be put back after one step
    Stepper stepper;
    Histogram counted;
};

class Watch {
  public:
    /// Handles SIGTRAP and looks for the function in what is loaded.  Once, before the program's own code.
    void start();
    /// Before the process ends.
    void finish();
    /// The program handles SIGTRAP itself from now on: no more breakpoints.
    void give_way();

    void on_trap(siginfo_t& info, SignalContext& context);

  private:
    void look_for_function();
    void look_in(const link_map& library, bool is_program);
    void watch_for_libraries();
    void on_breakpoint(Breakpoint& breakpoint, SignalContext& context);
    void on_libraries_changed(SignalContext& context);
    void begin_call(Thread& thread, Breakpoint& breakpoint, SignalContext& context, std::uint64_t number);
    void on_step(Thread& thread, SignalContext& context);
    void end_call(Thread& thread, SignalContext& context, const char* reason);
    void step_over(Thread& thread, Breakpoint& breakpoint, SignalContext& context);
    void be_sure_to_record();

    Breakpoints breakpoints_;
    Record record_;
    std::atomic_flag recording_ = ATOMIC_FLAG_INIT;
    std::atomic<std::uint64_t> calls_{0};
    std::uint64_t libraries_changed_ = 0;  ///< where the dynamic linker announces new libraries
    std::atomic<bool> active_{false};
    std::atomic<bool> found_{false};
};

Watch& watch();

/// As the program's default: ends the process for a trap that is not ours.
void trap_of_the_program(siginfo_t& info, SignalContext& context);

}  // namespace slowpath::counting::preload
