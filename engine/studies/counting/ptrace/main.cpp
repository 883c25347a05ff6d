// SPDX-License-Identifier: Apache-2.0
/// slowpath-count-ptrace: steps through a function's calls from outside, for processors without a trap flag
/// and for programs that can't be preloaded.
#include <iostream>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "counting/ptrace/options.hpp"
#include "counting/ptrace/tracer.hpp"

int main(int count, char** arguments) {
    using namespace slowpath::counting::ptrace;
    const std::vector<std::string> words(arguments + 1, arguments + count);
    try {
        if (words == std::vector<std::string>{"--help"}) {
            std::cout << usage << std::flush;
            return std::cout ? 0 : 4;
        }
        const Options options = parse_options(words);
        return Tracer(options).run();
    } catch (const slowpath::UsageError& error) {
        std::cerr << "slowpath-count-ptrace: error: " << error.what() << "\n" << usage;
        return 2;
    } catch (const std::exception& error) {
        std::cerr << "slowpath-count-ptrace: error: " << error.what() << "\n";
        return 4;
    }
}
