// SPDX-License-Identifier: Apache-2.0
/// One thread's way through its instructions, trap by trap.  Safe in signal handlers; used in the process
/// itself by the counter and by libslowpath-count.so.
#pragma once

#include "counting/signal_context.hpp"

namespace slowpath::counting {

/// A Sink is called with (address, is it a rep-prefixed instruction, is it one more iteration) for each
/// instruction.
class Stepper {
  public:
    enum class State { stepping, refused };

    /// The next instruction begins a new count.
    void reset() {
        before_ = 0;
        after_syscall_ = 0;
    }

    /// To be called first where a trap says which instruction comes next: the kernel returns from a system
    /// call by an instruction that restores the trap flag, and the processor traps only after the one that
    /// follows.  That one was executed without a report.
    template <class Sink>
    void settle(const SignalContext& context, Sink&& sink) {
        if (after_syscall_ != 0 && context.instruction() != after_syscall_) note(after_syscall_, sink);
        after_syscall_ = 0;
    }

    /// The instruction that comes next will be executed; what must not be stepped is carried out here.
    /// @return refused: it starts a thread or process, and was not carried out.
    template <class Sink>
    State next(SignalContext& context, Sink&& sink) {
        for (;;) {
            const std::int64_t call = context.system_call();
            if (starts_another(call)) return State::refused;
            note(context.instruction(), sink);
            if (call == SYS_rt_sigprocmask) {
                context.change_signal_mask();
                continue;
            }
            // After a signal handler's return the next instruction is wherever the signal came.
            if (call >= 0 && call != SYS_rt_sigreturn) after_syscall_ = context.instruction() + syscall_bytes;
            return State::stepping;
        }
    }

  private:
    template <class Sink>
    void note(std::uint64_t address, Sink&& sink) {
        const bool repeated =
            address < end_of_user_space && is_repeated(reinterpret_cast<const std::uint8_t*>(address));
        sink(address, repeated, repeated && address == before_);
        before_ = address;
    }

    std::uint64_t before_ = 0;
    std::uint64_t after_syscall_ = 0;
};

}  // namespace slowpath::counting
