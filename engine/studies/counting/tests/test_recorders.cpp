// SPDX-License-Identifier: Apache-2.0
// Programs under libslowpath-count.so and under slowpath-count-ptrace: what their files say.
//   test_recorders LIBRARY TRACER PROGRAM KNOWN_LIBRARY
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/check.hpp"

using namespace slowpath;
namespace files = std::filesystem;

namespace {

struct Paths {
    std::string library, tracer, program, known;
};

struct Outcome {
    int exit_code = 0;  ///< 128 and more: a signal
    std::vector<std::string> lines;

    /// Lines that hold this.
    std::size_t with(const std::string& part) const {
        std::size_t found = 0;
        for (const std::string& line : lines) found += test::contains(line, part);
        return found;
    }

    std::size_t calls_of(int stepped, int retired) const {
        return with("\"stepped\": " + std::to_string(stepped) + ", \"retired\": " + std::to_string(retired) +
                    ",");
    }
};

class Recorder {
  public:
    Recorder(const Paths& paths, bool traced) : paths_(paths), traced_(traced) {}

    bool traced() const { return traced_; }

    /// @param calls Calls to be counted, after `skip`.
    Outcome run(const std::string& function, const std::string& scenario, int calls = 64, int skip = 0,
                int most = 100000) const {
        const files::path folder =
            files::temp_directory_path() / ("slowpath-recorders-" + std::to_string(getpid()));
        files::remove_all(folder);
        files::create_directory(folder);
        const std::string wish[] = {function, folder.string(), std::to_string(calls), std::to_string(skip),
                                    std::to_string(most)};
        const char* const options[] = {"--call ", "--folder ", "--calls ", "--skip ", "--most "};
        const char* const variables[] = {"CALL=", "FOLDER=", "CALLS=", "SKIP=", "MOST="};
        std::string command = traced_ ? "exec " + paths_.tracer : "exec env LD_PRELOAD=" + paths_.library;
        for (int i = 0; i < 5; ++i)
            command +=
                (traced_ ? std::string(" ") + options[i] : std::string(" SLOWPATH_COUNT_") + variables[i]) +
                wish[i];
        command += (traced_ ? " -- " : " ") + paths_.program + " " + paths_.known + " " + scenario;
        const int status = std::system(command.c_str());
        Outcome outcome;
        outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        for (const auto& file : files::directory_iterator(folder)) {
            std::ifstream text(file.path());
            for (std::string line; std::getline(text, line);) outcome.lines.push_back(line);
        }
        files::remove_all(folder);
        return outcome;
    }

  private:
    const Paths& paths_;
    bool traced_;
};

void counts_what_was_counted_by_hand(const Recorder& recorder) {
    CHECK(recorder.run("known_ten", "ten").calls_of(10, 10) == 5);
    CHECK(recorder.run("known_copy", "copy").calls_of(39, 3) == 1);
    CHECK(recorder.run("known_recursion", "recursion").calls_of(23, 23) == 3);
    CHECK(recorder.run("known_nested", "nested").calls_of(14, 14) == 3);
    CHECK(recorder.run("known_alias", "nested").calls_of(14, 14) == 3);  // another name of the same function
    CHECK(recorder.run("known_system_call", "system_call").calls_of(4, 4) == 3);
}

void counts_the_calls_that_were_asked_for(const Recorder& recorder) {
    const Outcome some = recorder.run("known_ten", "ten", 2, 1);
    CHECK(some.with("\"event\": \"call\"") == 2);
    CHECK(some.with("\"call\": 2,") == 1 && some.with("\"call\": 3,") == 1);
    const Outcome none = recorder.run("known_ten", "ten", 2, 100);
    CHECK(none.with("\"event\": \"call\"") == 0);
    CHECK(none.with("{\"event\": \"end\", \"calls\": 5}") == 1);
    CHECK(recorder.run("no_such_function", "ten").lines.empty());
}

void counts_threads_and_children(const Recorder& recorder) {
    const Outcome threads = recorder.run("known_ten", "threads");
    CHECK(threads.exit_code == 0);
    // A call that begins while another thread executes the first instruction is not seen.
    CHECK(threads.with("\"event\": \"call\"") >= 20);
    CHECK(threads.calls_of(10, 10) == threads.with("\"event\": \"call\""));
    const Outcome forked = recorder.run("known_ten", "fork");
    CHECK(forked.exit_code == 0);
    CHECK(forked.calls_of(10, 10) == 3);
    CHECK(forked.with("\"event\": \"process\"") == 2);
}

void survives_what_programs_do(const Recorder& recorder) {
    const Outcome blocked = recorder.run("known_ten", "blocked");
    CHECK(blocked.exit_code == 0);
    CHECK(blocked.calls_of(10, 10) == 2);
    const Outcome handler = recorder.run("known_ten", "own_handler");
    CHECK(handler.exit_code == 0);
    CHECK(handler.calls_of(10, 10) == (recorder.traced() ? 2 : 1));
    CHECK(handler.with("handles SIGTRAP itself") == (recorder.traced() ? 0 : 1));
    const Outcome jump = recorder.run("known_loop", "jump", 64, 0, 1000000000);
    CHECK(jump.exit_code == 0);
    CHECK(jump.with("left by a jump") == 1);
    CHECK(jump.calls_of(8, 8) == 1);
    const Outcome crash = recorder.run("known_ten", "crash");
    CHECK(crash.exit_code == 128 + SIGABRT);
    CHECK(crash.calls_of(10, 10) == 1);
    const Outcome trap = recorder.run("known_ten", "trap");
    CHECK(trap.exit_code == 128 + SIGTRAP);
    CHECK(trap.calls_of(10, 10) == 1);
}

void gives_up_with_a_reason(const Recorder& recorder) {
    const Outcome long_one = recorder.run("known_loop", "jump", 64, 0, 1000);
    CHECK(long_one.with("more instructions than") == 1);
    const Outcome chosen = recorder.run("memcpy", "ten");
    CHECK(chosen.with("STT_GNU_IFUNC") >= 1);
    CHECK(chosen.with("\"event\": \"call\"") == 0);
    const Outcome starts = recorder.run("pthread_create", "threads");
    CHECK(starts.exit_code == 0);
    CHECK(starts.with("starts a thread or process") == (recorder.traced() ? 0 : 2));
}

}  // namespace

int main(int count, char** arguments) {
    if (count != 5) return 2;
    const Paths paths{arguments[1], arguments[2], arguments[3], arguments[4]};
    for (const bool traced : {false, true}) {
        const Recorder recorder(paths, traced);
        counts_what_was_counted_by_hand(recorder);
        counts_the_calls_that_were_asked_for(recorder);
        counts_threads_and_children(recorder);
        survives_what_programs_do(recorder);
        gives_up_with_a_reason(recorder);
    }
    return test::result();
}
