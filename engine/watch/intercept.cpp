// SPDX-License-Identifier: Apache-2.0
#include "watch/intercept.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>

#include "watch/file.hpp"
#include "watch/fortran.hpp"
#include "watch/imports.hpp"
#include "watch/library.hpp"
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

}  // namespace

int intercept(Call call, Prefix prefix, Word* words, Invoke invoke, const void* caller, const void* frame) {
    void* const target = original(prefix, call, caller);
    if (outermost > frame) [[unlikely]]
        return invoke(target, words);
    outermost = frame;
    Observed seen{call, words, caller, frame};
    note_fortran_caller(seen);
    Scratch* const scratch = before(seen);
    if (shapes[call].family == Family::start_and_end) [[unlikely]] {
        start_or_end(seen, prefix, invoke);
    } else {
        start_clock(seen);
        seen.error = invoke(target, words);
        stop_clock(seen);
    }
    after(seen, scratch);
    outermost = nullptr;
    return seen.error;
}

}  // namespace slowpath::watch
