// SPDX-License-Identifier: Apache-2.0
/// What a handler of SIGTRAP reads and changes in the interrupted thread (x86-64 Linux).  Safe in signal
/// handlers.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

#include "counting/instruction.hpp"

namespace slowpath::counting {

/// EFLAGS.TF: the processor traps after each instruction (Intel SDM volume 3, "Single-Stepping").
inline constexpr std::int64_t trap_flag = 0x100;

class SignalContext {
  public:
    explicit SignalContext(void* context) : context_(*static_cast<ucontext_t*>(context)) {}

    std::uint64_t instruction() const { return static_cast<std::uint64_t>(registers()[REG_RIP]); }
    std::uint64_t stack() const { return static_cast<std::uint64_t>(registers()[REG_RSP]); }
    void set_instruction(std::uint64_t address) { registers()[REG_RIP] = static_cast<greg_t>(address); }
    void set_stack(std::uint64_t address) { registers()[REG_RSP] = static_cast<greg_t>(address); }
    void step() { registers()[REG_EFL] |= trap_flag; }
    void stop_stepping() { registers()[REG_EFL] &= ~trap_flag; }

    const std::uint8_t* code() const { return reinterpret_cast<const std::uint8_t*>(instruction()); }
    bool readable() const { return instruction() < end_of_user_space; }

    /// Number of the system call that the instruction makes; -1: it makes none.
    std::int64_t system_call() const {
        return readable() && is_syscall(code()) ? static_cast<std::int64_t>(registers()[REG_RAX]) : -1;
    }

    /// rt_sigprocmask in place of the kernel, but SIGTRAP stays unblocked: a trap that is blocked ends the
    /// process.
    void change_signal_mask();

  private:
    greg_t* registers() const { return context_.uc_mcontext.gregs; }

    ucontext_t& context_;
};

/// Starts a process or thread, which would run on with the trap flag set and, maybe, in this thread's memory.
inline bool starts_another(std::int64_t system_call) {
    return system_call == SYS_clone || system_call == SYS_fork || system_call == SYS_vfork ||
           system_call == 435;
}

inline void SignalContext::change_signal_mask() {
    constexpr std::uint64_t mask_bytes = 8;  // the kernel's set; glibc's is longer
    constexpr std::uint64_t trap = std::uint64_t{1} << (SIGTRAP - 1);
    auto& mask = *reinterpret_cast<std::uint64_t*>(&context_.uc_sigmask);
    const std::uint64_t old = mask;
    const auto* const given = reinterpret_cast<const std::uint64_t*>(registers()[REG_RSI]);
    auto* const returned = reinterpret_cast<std::uint64_t*>(registers()[REG_RDX]);
    std::int64_t result = registers()[REG_R10] == mask_bytes ? 0 : -22;  // EINVAL
    if (result == 0 && given != nullptr) {
        const auto how = static_cast<int>(registers()[REG_RDI]);
        if (how == SIG_BLOCK) mask |= *given & ~trap;
        if (how == SIG_UNBLOCK) mask &= ~*given;
        if (how == SIG_SETMASK) mask = *given & ~trap;
        if (how != SIG_BLOCK && how != SIG_UNBLOCK && how != SIG_SETMASK) result = -22;
    }
    if (result == 0 && returned != nullptr) *returned = old;
    registers()[REG_RAX] = result;
    // As the instruction leaves them (Intel SDM volume 2, SYSCALL).
    registers()[REG_RCX] = static_cast<greg_t>(instruction() + syscall_bytes);
    registers()[REG_R11] = registers()[REG_EFL];
    set_instruction(instruction() + syscall_bytes);
}

}  // namespace slowpath::counting
