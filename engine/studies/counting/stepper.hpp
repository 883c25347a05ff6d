// SPDX-License-Identifier: Apache-2.0
/// One thread's way through its instructions, trap by trap (x86-64 Linux). Safe in signal handlers.
#pragma once

#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cstdint>

namespace slowpath::counting {

/// F2 or F3 before a string instruction (Intel SDM volume 2, REP/REPE/REPNE).  Each iteration is a step of
/// its own to a single-stepper, all of them together are one instruction to a hardware counter.
/// @param code First byte of an instruction; no byte behind its opcode is read.
inline bool is_repeated(const std::uint8_t* code) {
    bool prefixed = false;
    for (int i = 0; i < 15; ++i) {
        const std::uint8_t byte = code[i];
        const bool segment =
            byte == 0x26 || byte == 0x2e || byte == 0x36 || byte == 0x3e || byte == 0x64 || byte == 0x65;
        const bool size_or_rex = byte == 0x66 || byte == 0x67 || (byte & 0xf0) == 0x40;
        if (byte == 0xf2 || byte == 0xf3) {
            prefixed = true;
        } else if (!segment && !size_or_rex) {
            const bool string = (byte >= 0xa4 && byte <= 0xa7) || (byte >= 0xaa && byte <= 0xaf) ||
                                (byte >= 0x6c && byte <= 0x6f);
            return prefixed && string;
        }
    }
    return false;
}

inline bool is_syscall(const std::uint8_t* code) {
    return code[0] == 0x0f && code[1] == 0x05;
}

inline constexpr std::uint64_t syscall_bytes = 2;

/// Above it lies the vsyscall page, which may be executed but not read.
inline constexpr std::uint64_t end_of_user_space = std::uint64_t{1} << 47;

/// EFLAGS.TF: the processor traps after each instruction (Intel SDM volume 3, "Single-Stepping").
inline constexpr std::int64_t trap_flag = 0x100;

class SignalContext {
  public:
    explicit SignalContext(void* context) : context_(*static_cast<ucontext_t*>(context)) {}

    std::uint64_t instruction() const { return static_cast<std::uint64_t>(registers()[REG_RIP]); }
    void set_instruction(std::uint64_t address) { registers()[REG_RIP] = static_cast<greg_t>(address); }
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

/// A Sink is called with (address, is it a rep-prefixed instruction, is it one more iteration) for each
/// instruction.
class Stepper {
  public:
    enum class State { stepping, refused };

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
