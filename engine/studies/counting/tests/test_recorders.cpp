// SPDX-License-Identifier: Apache-2.0
// Programs under libslowpath-count.so and under slowpath-count-ptrace: what their files say.
//   test_recorders LIBRARY TRACER PROGRAM KNOWN_LIBRARY
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/text.hpp"

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
                "'" + wish[i] + "'";  // the temporary folder may have a blank in its path
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

Paths given;

class Recorders : public testing::TestWithParam<bool> {
  protected:
    const Recorder recorder{given, GetParam()};
};

INSTANTIATE_TEST_SUITE_P(PreloadedAndTraced, Recorders, testing::Bool());

TEST_P(Recorders, CountsWhatWasCountedByHand) {
    EXPECT_EQ(recorder.run("known_ten", "ten").calls_of(10, 10), 5);
    EXPECT_EQ(recorder.run("known_copy", "copy").calls_of(39, 3), 1);
    EXPECT_EQ(recorder.run("known_recursion", "recursion").calls_of(23, 23), 3);
    EXPECT_EQ(recorder.run("known_nested", "nested").calls_of(14, 14), 3);
    EXPECT_EQ(recorder.run("known_alias", "nested").calls_of(14, 14),
              3);  // another name of the same function
    EXPECT_EQ(recorder.run("known_system_call", "system_call").calls_of(4, 4), 3);
}

TEST_P(Recorders, CountsTheCallsThatWereAskedFor) {
    const Outcome some = recorder.run("known_ten", "ten", 2, 1);
    EXPECT_EQ(some.with("\"event\": \"call\""), 2);
    EXPECT_TRUE(some.with("\"call\": 2,") == 1 && some.with("\"call\": 3,") == 1);
    const Outcome none = recorder.run("known_ten", "ten", 2, 100);
    EXPECT_EQ(none.with("\"event\": \"call\""), 0);
    EXPECT_EQ(none.with("{\"event\": \"end\", \"calls\": 5}"), 1);
    EXPECT_TRUE(recorder.run("no_such_function", "ten").lines.empty());
}

TEST_P(Recorders, CountsThreadsAndChildren) {
    const Outcome threads = recorder.run("known_ten", "threads");
    EXPECT_EQ(threads.exit_code, 0);
    // A call that begins while another thread executes the first instruction is not seen.
    EXPECT_GE(threads.with("\"event\": \"call\""), 20);
    EXPECT_EQ(threads.calls_of(10, 10), threads.with("\"event\": \"call\""));
    const Outcome forked = recorder.run("known_ten", "fork");
    EXPECT_EQ(forked.exit_code, 0);
    EXPECT_EQ(forked.calls_of(10, 10), 3);
    EXPECT_EQ(forked.with("\"event\": \"process\""), 2);
}

TEST_P(Recorders, SurvivesWhatProgramsDo) {
    const Outcome blocked = recorder.run("known_ten", "blocked");
    EXPECT_EQ(blocked.exit_code, 0);
    EXPECT_EQ(blocked.calls_of(10, 10), 2);
    const Outcome handler = recorder.run("known_ten", "own_handler");
    EXPECT_EQ(handler.exit_code, 0);
    EXPECT_EQ(handler.calls_of(10, 10), (recorder.traced() ? 2 : 1));
    EXPECT_EQ(handler.with("handles SIGTRAP itself"), (recorder.traced() ? 0 : 1));
    const Outcome jump = recorder.run("known_loop", "jump", 64, 0, 1000000000);
    EXPECT_EQ(jump.exit_code, 0);
    EXPECT_EQ(jump.with("left by a jump"), 1);
    EXPECT_EQ(jump.calls_of(8, 8), 1);
    const Outcome crash = recorder.run("known_ten", "crash");
    EXPECT_EQ(crash.exit_code, 128 + SIGABRT);
    EXPECT_EQ(crash.calls_of(10, 10), 1);
    const Outcome trap = recorder.run("known_ten", "trap");
    EXPECT_EQ(trap.exit_code, 128 + SIGTRAP);
    EXPECT_EQ(trap.calls_of(10, 10), 1);
}

TEST_P(Recorders, GivesUpWithAReason) {
    const Outcome long_one = recorder.run("known_loop", "jump", 64, 0, 1000);
    EXPECT_EQ(long_one.with("more instructions than"), 1);
    const Outcome chosen = recorder.run("memcpy", "ten");
    EXPECT_GE(chosen.with("STT_GNU_IFUNC"), 1);
    EXPECT_EQ(chosen.with("\"event\": \"call\""), 0);
    const Outcome starts = recorder.run("pthread_create", "threads");
    EXPECT_EQ(starts.exit_code, 0);
    EXPECT_EQ(starts.with("starts a thread or process"), (recorder.traced() ? 0 : 2));
}

}  // namespace
int main(int count, char** arguments) {
    testing::InitGoogleTest(&count, arguments);
    if (count != 5) return 2;
    given = {arguments[1], arguments[2], arguments[3], arguments[4]};
    return RUN_ALL_TESTS();
}
