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
    const bool is_first =
        !has_file();  // of sessions, which may follow by the thousand; the end notes all again
    begin_record();
    if (is_first) note_imports();
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

[[gnu::noinline, gnu::cold]] int count_at_its_place(Observed call, void* target, Invoke invoke) {
    note_fortran_caller(call);
    meet_local(call);
    return invoke(target, call.arguments);
}

struct Came {
    const void* caller;
    const void* frame;
};

constexpr bool is_poll(Call call) {
    return call == calls::MPI_Test || call == calls::MPI_Iprobe || call == calls::MPI_Improbe;
}

/// Whether its place is asked for (Lane::places) before anything else is done: polls of one request or
/// message take as little as that, and so do most calls that move nothing.
constexpr bool may_go_untimed(Call call, Family family) {
    return is_poll(call) || family == Family::local || call == calls::MPI_Request_get_status ||
           call == calls::MPI_Parrived || family == Family::communicators || family == Family::datatypes ||
           family == Family::other;
}

/// What `before` and `after` do for a call that is not timed (sample), as short as it can be.
/// @return False: it is to be observed.
template <Call call, Prefix prefix, bool is_local>
bool go_untimed(Word* words, Invoke invoke, Came from, int& error) {
    constexpr bool is_probe = is_poll(call) && call != calls::MPI_Test;
    if (outermost > from.frame || recording == 0 || own_lane_since != recording || has_fortran_caller())
        return false;
    Lane& lane = *own_lane;
    const Word source = is_probe ? words[0] : 0, communicator = is_probe ? words[2] : 0;
    CountedPlace& place = lane.places[CountedPlace::slot(from.caller, from.frame, source)];
    if (!place.is_of(from.caller, from.frame, call, source, communicator)) return false;
    if constexpr (is_poll(call))
        if (lane.current == nullptr || lane.current->doing != layout::polling) return false;
    if constexpr (is_local)
        ++place.row->count;
    else if (!place.skips())
        return false;
    outermost = from.frame;
    Observed seen{call, words, from.caller, from.frame};
    Scratch* scratch = nullptr;
    if constexpr (is_poll(call)) {
        ++lane.untimed_polls;
        scratch = prepare(seen, plans[call]);
    }
    error = invoke(original(prefix, call, from.caller), words);
    if constexpr (is_poll(call)) {
        const auto* const found = reinterpret_cast<const std::int32_t*>(words[is_probe ? 3 : 1]);
        if (error != 0 || found == nullptr || *found != 0) [[unlikely]] {
            seen.error = error;
            seen.place = &place;
            seen.is_thinned = seen.is_untimed = true;
            after(seen, scratch);
        }
    }
    outermost = nullptr;
    return true;
}

}  // namespace

int intercept(Call call, Prefix prefix, Word* words, Invoke invoke, const void* caller, const void* frame) {
    void* const target = original(prefix, call, caller);
    const bool is_off = recording == 0 && shapes[call].family != Family::start_and_end;
    if (outermost > frame || is_off) [[unlikely]]
        return invoke(target, words);
    outermost = frame;
    Observed seen{call, words, caller, frame};
    if (shapes[call].family == Family::local) [[unlikely]] {
        const int error = count_at_its_place(seen, target, invoke);
        outermost = nullptr;
        return error;
    }
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

// LIST_N(Word) are parameters, LIST_N() are their names.
#define LIST_0(type)
#define LIST_1(type) type a0
#define LIST_2(type) LIST_1(type), type a1
#define LIST_3(type) LIST_2(type), type a2
#define LIST_4(type) LIST_3(type), type a3
#define LIST_5(type) LIST_4(type), type a4
#define LIST_6(type) LIST_5(type), type a5
#define LIST_7(type) LIST_6(type), type a6
#define LIST_8(type) LIST_7(type), type a7
#define LIST_9(type) LIST_8(type), type a8
#define LIST_10(type) LIST_9(type), type a9
#define LIST_11(type) LIST_10(type), type a10
#define LIST_12(type) LIST_11(type), type a11
#define LIST_13(type) LIST_12(type), type a12
#define LIST_14(type) LIST_13(type), type a13
#define LIST_15(type) LIST_14(type), type a14
#define LIST_16(type) LIST_15(type), type a15

#define WRAPPER(symbol, name, prefix, arguments, family)                                                 \
    int symbol(LIST_##arguments(Word)) {                                                                 \
        const Came from{__builtin_return_address(0), __builtin_frame_address(0)};                        \
        Word words[arguments == 0 ? 1 : arguments] = {LIST_##arguments()};                               \
        if constexpr (may_go_untimed(calls::name, Family::family))                                       \
            if (int error = 0; go_untimed<calls::name, Prefix::prefix, Family::family == Family::local>( \
                    words, invoke_with<arguments>, from, error))                                         \
                return error;                                                                            \
        return intercept(calls::name, Prefix::prefix, words, invoke_with<arguments>, from.caller,        \
                         from.frame);                                                                    \
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
