// SPDX-License-Identifier: Apache-2.0
#include "counting/counter.hpp"

#include <algorithm>
#include <filesystem>
#include <span>

#include "core/error.hpp"
#include "counting/names.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "counting/stepper.hpp"
#endif

namespace slowpath::counting {
namespace {

/// The address of each executed instruction in order; the top bit is set on rep-prefixed string instructions.
using Traced = std::uint64_t;

constexpr Traced repeated_bit = std::uint64_t{1} << 63;

constexpr std::uint64_t address_of(Traced traced) {
    return traced & ~repeated_bit;
}

/// One iteration after another of the same instruction: one retired instruction.
constexpr bool is_next_iteration(Traced before, Traced now) {
    return now == before && (now & repeated_bit) != 0;
}

struct Calls {
    std::vector<std::uint32_t> stepped;       ///< per call, instructions outside the program's own text
    std::vector<std::uint32_t> retired;       ///< the same, iterations of one rep-prefixed instruction as one
    std::vector<std::uint64_t> instructions;  ///< addresses of all of them
};

/// A call is a longest run of instructions that are not `own`.
Calls split_calls(std::span<const Traced> trace, const std::function<bool(std::uint64_t)>& own) {
    Calls calls;
    bool inside = false;
    Traced before = 0;
    for (const Traced now : trace) {
        const bool outside = own(address_of(now));
        if (!outside) {
            if (!inside) {
                calls.stepped.push_back(0);
                calls.retired.push_back(0);
            }
            ++calls.stepped.back();
            if (!inside || !is_next_iteration(before, now)) ++calls.retired.back();
            calls.instructions.push_back(address_of(now));
        }
        inside = !outside;
        before = now;
    }
    return calls;
}

#if defined(__x86_64__) && defined(__linux__)

/// Pages of their own, written before they are used: the stepped code's heap must stay as it is.
class Memory {
  public:
    explicit Memory(std::size_t bytes) : bytes_(bytes) {
        data_ =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (data_ == MAP_FAILED)
            throw EnvironmentFailure("no memory for a trace of instructions (" + std::to_string(bytes) +
                                     " bytes); count fewer calls");
    }
    ~Memory() { munmap(data_, bytes_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    void* data() const { return data_; }

  private:
    void* data_ = nullptr;
    std::size_t bytes_;
};

/// What the handler works with; one thread at a time is stepped.
struct Stepping {
    Traced* trace = nullptr;
    std::size_t capacity = 0;
    std::size_t length = 0;
    bool refused = false;
    Stepper stepper;
};

thread_local Stepping* stepping = nullptr;

void on_trap(int, siginfo_t*, void* raw_context) {
    SignalContext context(raw_context);
    Stepping* const now = stepping;
    if (now == nullptr) {  // a thread that inherited the flag
        context.stop_stepping();
        return;
    }
    const auto note = [now](std::uint64_t address, bool repeated, bool) {
        if (now->length < now->capacity)
            now->trace[now->length] = repeated ? address | repeated_bit : address;
        ++now->length;
    };
    now->stepper.settle(context, note);
    const auto state = now->stepper.next(context, note);
    now->refused = now->refused || state == Stepper::State::refused;
    if (now->refused || now->length >= now->capacity) context.stop_stepping();
}

/// SIGTRAP's handler and the stack it runs on, for the length of a region.
class Handler {
  public:
    Handler() : stack_(stack_bytes) {
        stack_t stack{};
        stack.ss_sp = stack_.data();
        stack.ss_size = stack_bytes;
        struct sigaction action {};
        action.sa_sigaction = on_trap;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
        sigemptyset(&action.sa_mask);
        if (sigaltstack(&stack, &old_stack_) != 0 || sigaction(SIGTRAP, &action, &old_action_) != 0)
            throw EnvironmentFailure(std::string("SIGTRAP can't be handled here (") + std::strerror(errno) +
                                     "), so calls can't be stepped through");
    }
    ~Handler() {
        sigaction(SIGTRAP, &old_action_, nullptr);
        if (old_stack_.ss_flags & SS_DISABLE) old_stack_.ss_size = stack_bytes;
        sigaltstack(&old_stack_, nullptr);
    }
    Handler(const Handler&) = delete;
    Handler& operator=(const Handler&) = delete;

  private:
    static constexpr std::size_t stack_bytes = 256 * 1024;  // vector and matrix registers are saved on it
    Memory stack_;
    stack_t old_stack_{};
    struct sigaction old_action_ {};
};

std::string status_of_self(const std::string& field) {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);) {
        if (!line.starts_with(field + ":")) continue;
        const auto value = line.find_first_not_of(" \t", field.size() + 1);
        return value == line.npos ? "" : line.substr(value);
    }
    return "";
}

// The red zone below the stack pointer belongs to the compiler's code (System V ABI, section 3.2.2).
[[gnu::always_inline]] inline void set_trap_flag() {
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
}

[[gnu::always_inline]] inline void clear_trap_flag() {
    asm volatile(
        "lea -128(%%rsp), %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tlea 128(%%rsp), %%rsp" ::
            : "memory", "cc");
}

/// The same instructions around any region, so that an empty one shows what they cost.
[[gnu::noinline]] void run_stepped(const std::function<void()>& region) {
    set_trap_flag();
    region();
    clear_trap_flag();
}

/// Why this thread can't be stepped; nullopt: it can, as far as is known without trying.
std::optional<std::string> cannot_step() {
    if (const std::string tracer = status_of_self("TracerPid"); !tracer.empty() && tracer != "0")
        return "process " + tracer + " traces this one (a debugger?) and would get the traps";
    if (status_of_self("Seccomp") == "1") return "this process is in seccomp's strict mode";
    sigset_t blocked;
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    if (sigismember(&blocked, SIGTRAP)) return "SIGTRAP is blocked in this thread; unblock it";
    struct sigaction action {};
    if (sigaction(SIGTRAP, nullptr, &action) != 0) return "SIGTRAP can't be handled here";
    const bool handled = action.sa_flags & SA_SIGINFO
                             ? action.sa_sigaction != nullptr
                             : action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
    if (handled) return "something else in this process handles SIGTRAP (a debugger or profiler?)";
    return std::nullopt;
}

/// Run `region` once, stepping, and return the instructions between the begin and the end of the call.
/// @param limit Longest trace; its memory is taken and written before the first step.
/// @throws EnvironmentFailure: it can't be done, the trace is longer than `limit`, or the region starts a
/// thread.
std::vector<Traced> step_through(const std::function<void()>& region, std::size_t limit) {
    if (const auto reason = cannot_step())
        throw EnvironmentFailure("instructions can't be counted here: " + *reason);
    const Memory memory(limit * sizeof(Traced));
    Stepping now{.trace = static_cast<Traced*>(memory.data()), .capacity = limit, .stepper = {}};
    {
        const Handler handler;
        stepping = &now;
        try {
            run_stepped(region);
        } catch (...) {
            clear_trap_flag();
            stepping = nullptr;
            throw;
        }
        stepping = nullptr;
    }
    if (now.refused)
        throw EnvironmentFailure(
            "instructions can't be counted here: a call starts a thread or process, which can't be stepped "
            "through; let it happen before");
    if (now.length >= limit)
        throw EnvironmentFailure("more than " + std::to_string(limit) +
                                 " instructions are to be counted; count fewer calls");
    return {now.trace, now.trace + now.length};
}

#else

std::optional<std::string> cannot_step() {
    return "this processor has no trap flag that a program may set";
}

std::vector<Traced> step_through(const std::function<void()>&, std::size_t) {
    throw EnvironmentFailure("instructions can't be counted here: " + *cannot_step());
}

#endif

constexpr std::size_t short_limit = 1 << 12;

/// Instructions of a region that does nothing: what setting the flag and calling the region costs.
std::size_t cost_of_nothing() {
    return step_through([] {}, short_limit).size();
}

/// The executable ranges of the program itself, linkage stubs included.
std::vector<Mapping> own_text(const std::vector<Mapping>& mappings) {
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::vector<Mapping> own;
    for (const Mapping& mapping : mappings)
        if (!program.empty() && mapping.path == program) own.push_back(mapping);
    if (own.empty())
        throw EnvironmentFailure(
            "the program's own instructions are not found in /proc/self/maps, so calls can't be "
            "distinguished");
    return own;
}

/// Steps through a known number of instructions.  @return What is wrong with the result; nullopt: nothing.
std::optional<std::string> why_wrong() {
    // Emulators and instrumenting tools accept the flag and ignore it, or trap at other places.
    constexpr std::size_t steps = 100;
    const auto nothing = cost_of_nothing();
    const auto with_steps = step_through(
                                [] {
                                    asm volatile(".rept 100\n\tnop\n\t.endr" ::: "memory");
                                },
                                short_limit)
                                .size();
    if (nothing == 0 || with_steps != nothing + steps)
        return "the trap flag does not work here: " + std::to_string(steps) + " instructions made " +
               std::to_string(with_steps - std::min(nothing, with_steps)) +
               " traps (an emulator or an instrumenting tool?)";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> unavailable() {
    if (auto reason = cannot_step()) return reason;
    try {
        return why_wrong();
    } catch (const EnvironmentFailure& failure) {
        return failure.what();
    }
}

Count count(const std::function<void()>& region, std::size_t limit) {
    const std::size_t nothing = cost_of_nothing();
    const std::vector<Traced> trace = step_through(region, limit);
    auto mappings = executable_mappings();
    const std::vector<Mapping> own = own_text(mappings);
    const auto is_own = [&own](std::uint64_t address) {
        return std::any_of(own.begin(), own.end(), [address](const Mapping& mapping) {
            return address >= mapping.begin && address < mapping.end;
        });
    };
    Calls calls = split_calls(trace, is_own);
    Count counted;
    counted.method = "trap flag";
    counted.stepped = std::move(calls.stepped);
    counted.retired = std::move(calls.retired);
    counted.region = trace.size() - std::min(nothing, trace.size());
    counted.shares = Names(std::move(mappings)).shares(calls.instructions);
    return counted;
}

}  // namespace slowpath::counting
