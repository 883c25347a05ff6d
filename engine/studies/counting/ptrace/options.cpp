// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/options.hpp"

#include <charconv>

#include "core/error.hpp"

namespace slowpath::counting::ptrace {

const char* const usage =
    "usage: slowpath-count-ptrace --call FUNCTION --folder DIR [--calls N] [--skip M] [--most I] -- PROGRAM "
    "...\n"
    "  Runs PROGRAM and steps through FUNCTION in it and in every process that it starts.  Writes one file a "
    "process\n"
    "  into DIR; slowpath count --method ptrace runs this and shows them.\n"
    "  --calls N  calls counted in each process (64)     --skip M  calls let through before (0)\n"
    "  --most I   a call with more instructions is given up (4000000)\n";

namespace {

std::uint64_t number(const std::string& option, const std::string& word) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc{} || end != word.data() + word.size())
        throw UsageError(option + " " + word + ": not a whole number from 0 on");
    return value;
}

}  // namespace

Options parse_options(std::span<const std::string> words) {
    Options options;
    std::size_t at = 0;
    for (; at < words.size() && words[at] != "--"; at += 2) {
        const std::string& option = words[at];
        if (at + 1 >= words.size()) throw UsageError(option + ": its value is missing");
        const std::string& value = words[at + 1];
        if (option == "--call") {
            options.function = value;
        } else if (option == "--folder") {
            options.folder = value;
        } else if (option == "--calls") {
            options.calls = number(option, value);
        } else if (option == "--skip") {
            options.skip = number(option, value);
        } else if (option == "--most") {
            options.most = number(option, value);
        } else {
            throw UsageError(option + ": no such option; the program comes after --");
        }
    }
    for (++at; at < words.size(); ++at) options.program.push_back(words[at]);
    if (options.function.empty()) throw UsageError("--call FUNCTION is missing");
    if (options.folder.empty()) throw UsageError("--folder DIR is missing");
    if (options.calls == 0) throw UsageError("--calls 0: count at least one call");
    if (options.program.empty()) throw UsageError("the program is missing; it comes after --");
    return options;
}

}  // namespace slowpath::counting::ptrace
