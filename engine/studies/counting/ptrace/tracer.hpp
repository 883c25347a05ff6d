// SPDX-License-Identifier: Apache-2.0
/// Runs a program and every process it starts, and steps through the calls of one function (ptrace(2)).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>

#include "counting/ptrace/options.hpp"
#include "counting/ptrace/process.hpp"

namespace slowpath::counting::ptrace {

class Tracer {
  public:
    explicit Tracer(const Options& options) : options_(options) {}

    /// @return The program's exit code; 128 and a signal's number if that ended it.
    /// @throws EnvironmentFailure: it can't be started or traced.
    int run();

  private:
    struct Thread {
        std::shared_ptr<Process> process;
        bool inside = false;
        std::uint64_t number = 0;
        std::uint64_t return_address = 0;
        std::uint64_t stack_at_return = 0;
        std::uint64_t lifted = 0;     ///< breakpoint to be put back after one step; 0: none
        std::uint64_t resume_at = 0;  ///< where the call goes on after a signal's handler; 0: no handler runs
        std::uint64_t before = 0;
        std::uint64_t after_syscall = 0;
        Counted counted;
    };

    void start();
    void attended(pid_t id, int status);
    void on_stop(pid_t id, int status);
    void on_event(pid_t id, Thread& thread, int event);
    bool on_trap(pid_t id, Thread& thread);
    void on_breakpoint(pid_t id, Thread& thread, std::uint64_t address, Purpose purpose);
    void begin_call(pid_t id, Thread& thread, std::uint64_t address);
    void on_step(pid_t id, Thread& thread);
    void end_call(pid_t id, Thread& thread, const char* reason);
    void note(Thread& thread, std::uint64_t address);
    static bool is_left(const Thread& thread, std::uint64_t stack);
    void go_on(pid_t id, const Thread& thread, int signal);

    const Options& options_;
    Files files_;
    std::map<pid_t, Thread> threads_;
    std::set<pid_t> held_;             ///< stopped, but not known yet
    std::set<pid_t> not_stopped_yet_;  ///< known, but their first stop is still to come
    pid_t program_ = 0;
    bool started_ = false;
    int exit_code_ = 0;
};

}  // namespace slowpath::counting::ptrace
