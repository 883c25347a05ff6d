// SPDX-License-Identifier: Apache-2.0
/// The wrappers: for each call of calls.txt a function under its name and one under its profiling name, which
/// take as many words as the call has arguments.
///
/// Both names, because libraries between the program and MPI use both: Open MPI's Fortran bindings call
/// PMPI_, MPICH's call either, and a tool that was preloaded before this library calls PMPI_.
#include "watch/intercept.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "watch/clock.hpp"
#include "watch/file.hpp"
#include "watch/fortran.hpp"
#include "watch/found.hpp"
#include "watch/imports.hpp"
#include "watch/library.hpp"
#include "watch/local.hpp"
#include "watch/ticks.hpp"

namespace slowpath::watch {

constinit TicksKind ticks_kind = TicksKind::monotonic_ns;

namespace {

// Before those without a number, which read the clock, whatever order the linker gives the files.
[[gnu::constructor(101)]] void choose_clock() {
    ticks_kind = find_ticks_kind();
}

/// The frame of this thread's outermost call. A call whose frame is not below it was made after that one was
/// left by an exception or a jump, which an error handler may do.
[[gnu::tls_model("initial-exec")]] constinit thread_local const void* outermost = nullptr;

/// Of one call in 61, which is no multiple of a round of the program's or of what is thinned.
bool is_measured() {
    [[gnu::tls_model("initial-exec")]] constinit thread_local std::uint32_t rest = 61;
    if (--rest != 0) [[likely]]
        return false;
    rest = 61;
    return true;
}

bool is_start(Call call) {
    return call == calls::MPI_Init || call == calls::MPI_Init_thread || call == calls::MPI_Session_init;
}

/// Once a process; a program that records nothing runs on.
void say_unknown() {
    static constinit std::atomic<bool> is_said{false};
    const char* const folder = std::getenv("SLOWPATH_WATCH");
    if (folder == nullptr || *folder == '\0' || is_said.exchange(true)) return;
    dprintf(
        STDERR_FILENO,
        "slowpath watch: not recorded: the interface of %s is not that of MPICH, Open MPI or the MPI ABI\n",
        library().path);
}

void begin() {
    if (library().interface == Interface::unknown) return say_unknown();
    begin_record();
    note_imports();
}

void end() {
    if (library().interface == Interface::unknown) return;
    note_imports();
    end_record();
}

[[gnu::noinline]] int start_or_end(Observed& seen, Prefix prefix, Invoke invoke) {
    if (seen.call == calls::MPI_Finalize) end();
    const bool is_noted = is_start(seen.call) && library().interface != Interface::unknown;
    if (is_noted) note_start_begun();
    start_clock(seen);
    seen.error = invoke(original(prefix, seen.call, seen.caller), seen.arguments);
    seen.end_ticks = now_ticks();
    if (is_noted) note_start_over(seen.error);
    if (is_start(seen.call) && seen.error == 0) begin();
    return seen.error;
}

[[gnu::noinline, gnu::cold]] void count_at_its_place(Call call, const void* caller, const void* frame) {
    Observed seen{call, nullptr, caller, frame};
    note_fortran_caller(seen);
    count_local(seen);
}

struct Came {
    const void* caller;
    const void* frame;
};

/// A local call, counted.
template <Call call, Prefix prefix>
struct LetThrough {
    Came from;

    template <typename... Words>
    [[gnu::always_inline]] int operator()(Words... words) const {
        const auto target = reinterpret_cast<int (*)(Words...)>(original(prefix, call, from.caller));
        if (outermost > from.frame) [[unlikely]]
            return target(words...);
        outermost = from.frame;
        if (has_fortran_caller() || !is_counted(call, from.caller, from.frame)) [[unlikely]]
            count_at_its_place(call, from.caller, from.frame);
        const int error = target(words...);
        outermost = nullptr;
        return error;
    }
};

}  // namespace

int intercept(Call call, Prefix prefix, Word* words, Invoke invoke, const void* caller, const void* frame) {
    void* const target = original(prefix, call, caller);
    if (outermost > frame) [[unlikely]]
        return invoke(target, words);
    outermost = frame;
    Observed seen{call, words, caller, frame};
    const std::uint64_t entered = is_measured() || handles_many(call, words) ? now_ticks() : 0;
    std::uint64_t called = 0, returned = 0;
    note_fortran_caller(seen);
    Scratch* const scratch = before(seen);
    if (shapes[call].family == Family::start_and_end) [[unlikely]] {
        start_or_end(seen, prefix, invoke);
    } else {
        start_clock(seen);
        if (entered != 0) [[unlikely]]
            called = now_ticks();
        seen.error = invoke(target, words);
        if (entered != 0) [[unlikely]]
            returned = now_ticks();
        stop_clock(seen);
    }
    after(seen, scratch);
    if (returned != 0) [[unlikely]]
        note_own_cost(seen, now_ticks() - returned + (called - entered));
    outermost = nullptr;
    return seen.error;
}

}  // namespace slowpath::watch

#define PARAMETERS_0
#define PARAMETERS_1 Word a0
#define PARAMETERS_2 PARAMETERS_1, Word a1
#define PARAMETERS_3 PARAMETERS_2, Word a2
#define PARAMETERS_4 PARAMETERS_3, Word a3
#define PARAMETERS_5 PARAMETERS_4, Word a4
#define PARAMETERS_6 PARAMETERS_5, Word a5
#define PARAMETERS_7 PARAMETERS_6, Word a6
#define PARAMETERS_8 PARAMETERS_7, Word a7
#define PARAMETERS_9 PARAMETERS_8, Word a8
#define PARAMETERS_10 PARAMETERS_9, Word a9
#define PARAMETERS_11 PARAMETERS_10, Word a10
#define PARAMETERS_12 PARAMETERS_11, Word a11
#define PARAMETERS_13 PARAMETERS_12, Word a12
#define PARAMETERS_14 PARAMETERS_13, Word a13
#define PARAMETERS_15 PARAMETERS_14, Word a14
#define PARAMETERS_16 PARAMETERS_15, Word a15
#define WORDS_0
#define WORDS_1 a0
#define WORDS_2 WORDS_1, a1
#define WORDS_3 WORDS_2, a2
#define WORDS_4 WORDS_3, a3
#define WORDS_5 WORDS_4, a4
#define WORDS_6 WORDS_5, a5
#define WORDS_7 WORDS_6, a6
#define WORDS_8 WORDS_7, a7
#define WORDS_9 WORDS_8, a8
#define WORDS_10 WORDS_9, a9
#define WORDS_11 WORDS_10, a10
#define WORDS_12 WORDS_11, a11
#define WORDS_13 WORDS_12, a12
#define WORDS_14 WORDS_13, a13
#define WORDS_15 WORDS_14, a14
#define WORDS_16 WORDS_15, a15

#define WRAPPER(symbol, name, prefix, arguments, family)                                          \
    int symbol(PARAMETERS_##arguments) {                                                          \
        const Came from{__builtin_return_address(0), __builtin_frame_address(0)};                 \
        if constexpr (Family::family == Family::local)                                            \
            return LetThrough<calls::name, Prefix::prefix>{from}(WORDS_##arguments);              \
        Word words[arguments == 0 ? 1 : arguments] = {WORDS_##arguments};                         \
        return intercept(calls::name, Prefix::prefix, words, invoke_with<arguments>, from.caller, \
                         from.frame);                                                             \
    }
#define SLOWPATH_CALL(name, arguments, family, ...) \
    WRAPPER(name, name, mpi, arguments, family)     \
    WRAPPER(P##name, name, pmpi, arguments, family)

using namespace slowpath::watch;

#pragma GCC visibility push(default)
extern "C" {

#include "watch_calls.inc"

}  // extern "C"
#pragma GCC visibility pop

namespace slowpath::watch {
namespace {

#undef SLOWPATH_CALL
#define SLOWPATH_CALL(name, ...) {reinterpret_cast<void*>(&::name), reinterpret_cast<void*>(&::P##name)},
void* const wrappers[][2] = {
#include "watch_calls.inc"
};
static_assert(std::size(wrappers) == call_count);

}  // namespace

void* wrapper_of(Prefix prefix, Call call) {
    return wrappers[call][static_cast<std::size_t>(prefix)];
}

}  // namespace slowpath::watch
