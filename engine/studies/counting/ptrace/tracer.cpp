// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/tracer.hpp"

#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "counting/ptrace/auxiliary.hpp"

namespace slowpath::counting::ptrace {
namespace {

constexpr const char* left_by_jump = "it was left by a jump: longjmp or an exception";
constexpr int no_program = 127;  // as shells say it
constexpr int not_traced = 126;
constexpr long options_of_trace =
    PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;

Processor::Registers registers_of(pid_t id) {
    Processor::Registers registers{};
    iovec part{&registers, sizeof registers};
    ::ptrace(PTRACE_GETREGSET, id, NT_PRSTATUS, &part);
    return registers;
}

void set_registers(pid_t id, Processor::Registers& registers) {
    iovec part{&registers, sizeof registers};
    ::ptrace(PTRACE_SETREGSET, id, NT_PRSTATUS, &part);
}

/// On one stack, not on another that a library of light threads switched to.
bool is_near(std::uint64_t a, std::uint64_t b) {
    constexpr std::uint64_t near_bytes = 1 << 20;
    return (a > b ? a - b : b - a) < near_bytes;
}

[[noreturn]] void become(const std::vector<std::string>& program) {
    std::vector<char*> words;
    for (const std::string& word : program) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(not_traced);
    raise(SIGSTOP);  // until the options are set
    execvp(words[0], words.data());
    _exit(no_program);
}

}  // namespace

int Tracer::run() {
    start();
    for (;;) {
        int status = 0;
        const pid_t id = waitpid(-1, &status, __WALL);
        if (id < 0 && errno == EINTR) continue;
        if (id < 0) break;
        attended(id, status);
    }
    return exit_code_;
}

void Tracer::start() {
    program_ = fork();
    if (program_ < 0)
        throw EnvironmentFailure(std::string("the program can't be started: ") + std::strerror(errno));
    if (program_ == 0) become(options_.program);
    int status = 0;
    waitpid(program_, &status, 0);
    if (!WIFSTOPPED(status) || ::ptrace(PTRACE_SETOPTIONS, program_, nullptr, options_of_trace) != 0)
        throw EnvironmentFailure(
            "ptrace is forbidden here (a container's or the system's policy); use --method trap");
    std::signal(SIGINT, SIG_IGN);  // the program's to decide: it has its own
    threads_[program_].process = std::make_shared<Process>(options_, files_, program_);
    ::ptrace(PTRACE_CONT, program_, nullptr, 0);
}

void Tracer::attended(pid_t id, int status) {
    if (WIFSTOPPED(status)) return on_stop(id, status);
    if (id == program_) {
        exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (!started_)
            throw EnvironmentFailure(options_.program[0] +
                                     ": can't be started; is it on the PATH, and executable?");
    }
    if (const auto found = threads_.find(id); found != threads_.end()) {
        if (found->second.process->id() == id) found->second.process->finish();
        threads_.erase(found);
    }
}

void Tracer::on_stop(pid_t id, int status) {
    const int signal = WSTOPSIG(status);
    if (!threads_.contains(id)) {
        // Its creator's event says what it is, and may come later: until then it waits.
        held_.insert(id);
        return;
    }
    Thread& now = threads_[id];
    if (const int event = status >> 16; event != 0) {
        on_event(id, now, event);
        return go_on(id, now, 0);
    }
    if (signal == SIGSTOP && not_stopped_yet_.erase(id) > 0) return go_on(id, now, 0);
    if (signal == SIGTRAP && on_trap(id, now)) return go_on(id, now, 0);
    if (now.inside && now.resume_at == 0) {
        // A handler is not part of the call: it runs unstepped until it is back.
        now.resume_at = Processor::instruction(registers_of(id));
        now.process->place(now.resume_at, Purpose::resume);
    }
    go_on(id, now, signal);
}

void Tracer::on_event(pid_t id, Thread& now, int event) {
    unsigned long message = 0;
    ::ptrace(PTRACE_GETEVENTMSG, id, nullptr, &message);
    if (event == PTRACE_EVENT_EXEC) {
        started_ = started_ || id == program_;
        now = Thread{};
        now.process = std::make_shared<Process>(options_, files_, id);
        now.process->watch_entry();
        return;
    }
    if (event != PTRACE_EVENT_FORK && event != PTRACE_EVENT_VFORK && event != PTRACE_EVENT_CLONE) return;
    const auto made = static_cast<pid_t>(message);
    Thread& other = threads_[made];
    other.process =
        process_of(made) == now.process->id() ? now.process : std::make_shared<Process>(*now.process, made);
    if (held_.erase(made) > 0) {
        go_on(made, other, 0);
    } else {
        not_stopped_yet_.insert(made);
    }
}

bool Tracer::on_trap(pid_t id, Thread& now) {
    siginfo_t about{};
    ::ptrace(PTRACE_GETSIGINFO, id, nullptr, &about);
    auto registers = registers_of(id);
    const std::uint64_t address = Processor::instruction(registers) - Processor::breakpoint_behind;
    const bool breakpoint =
        about.si_code == SI_KERNEL || (Processor::breakpoint_behind == 0 && about.si_code == TRAP_BRKPT);
    if (breakpoint) {
        const auto purpose = now.process->purpose_at(address);
        if (!purpose) return false;
        Processor::set_instruction(registers, address);
        set_registers(id, registers);
        on_breakpoint(id, now, address, *purpose);
        return true;
    }
    if (about.si_code != TRAP_TRACE && about.si_code != TRAP_BRKPT) return false;
    on_step(id, now);
    return true;
}

void Tracer::on_breakpoint(pid_t id, Thread& now, std::uint64_t address, Purpose purpose) {
    Process& process = *now.process;
    if (now.resume_at == address) {
        now.resume_at = 0;
        if (purpose == Purpose::resume) return process.remove(address);
    }
    if (purpose == Purpose::entry) {
        process.remove(address);
        process.look_for_function();
        process.watch_libraries();
        return;
    }
    if (purpose == Purpose::libraries_changed) process.look_for_function();
    // Another thread put the breakpoint back before this one's first instruction: the same call still.
    if (now.lifted == address) return process.lift(address);
    // Where the stack is as high as before the call that is being counted, that one was left without a
    // return.
    if (purpose == Purpose::function && now.inside && is_left(now, Processor::stack(registers_of(id))))
        end_call(id, now, left_by_jump);
    if (purpose == Purpose::function && !now.inside) {
        const std::uint64_t number = ++process.calls;
        const std::uint64_t last = options_.skip + options_.calls;
        if (number > options_.skip && number <= last) begin_call(id, now, address);
        if (number >= last) return process.stop_watching();
    }
    process.lift(address);
    now.lifted = address;
}

/// At the function's first instruction: its call pushed an address, or not.
bool Tracer::is_left(const Thread& now, std::uint64_t stack) {
    const std::uint64_t before_call =
        stack + (Processor::return_address_on_stack ? sizeof(std::uint64_t) : 0);
    return before_call >= now.stack_at_return && is_near(before_call, now.stack_at_return);
}

void Tracer::begin_call(pid_t id, Thread& now, std::uint64_t address) {
    const auto registers = registers_of(id);
    const std::uint64_t stack = Processor::stack(registers);
    now.inside = true;
    now.number = now.process->calls;
    now.return_address = Processor::return_address(registers);
    now.stack_at_return = stack;
    if (Processor::return_address_on_stack) {
        now.return_address = now.process->memory().value<std::uint64_t>(stack).value_or(0);
        now.stack_at_return = stack + sizeof(std::uint64_t);
    }
    now.before = now.after_syscall = 0;
    now.counted = Counted{};
    note(now, address);
}

void Tracer::note(Thread& now, std::uint64_t address) {
    const auto instruction = now.process->instruction_at(address);
    now.counted.add(address, instruction.repeated && address == now.before);
    now.before = address;
    now.after_syscall = instruction.system_call ? address + Processor::syscall_instruction_bytes : 0;
}

void Tracer::on_step(pid_t id, Thread& now) {
    if (now.lifted != 0) now.process->put_back(now.lifted);
    now.lifted = 0;
    if (!now.inside) return;
    const auto registers = registers_of(id);
    const std::uint64_t address = Processor::instruction(registers);
    const std::uint64_t stack = Processor::stack(registers);
    // Kernels differ in whether they stop after a system call or one instruction later.
    if (now.after_syscall != 0 && address != now.after_syscall) note(now, now.after_syscall);
    now.after_syscall = 0;
    if (address == now.return_address && stack == now.stack_at_return) return end_call(id, now, nullptr);
    if (stack > now.stack_at_return && is_near(stack, now.stack_at_return))
        return end_call(id, now, left_by_jump);
    if (now.counted.sum.stepped >= options_.most)
        return end_call(id, now, "it has more instructions than --most allows: does it wait for a message?");
    note(now, address);
}

void Tracer::end_call(pid_t id, Thread& now, const char* reason) {
    now.inside = false;
    if (now.resume_at != 0 && now.process->purpose_at(now.resume_at) == Purpose::resume)
        now.process->remove(now.resume_at);  // the handler left by a jump
    now.resume_at = 0;
    if (reason == nullptr) {
        now.process->record().call(now.number, id, now.counted);
    } else {
        now.process->record().call_without_count(now.number, id, reason);
    }
}

void Tracer::go_on(pid_t id, const Thread& now, int signal) {
    const bool step = now.lifted != 0 || (now.inside && now.resume_at == 0);
    ::ptrace(step ? PTRACE_SINGLESTEP : PTRACE_CONT, id, nullptr, signal);
}

}  // namespace slowpath::counting::ptrace
