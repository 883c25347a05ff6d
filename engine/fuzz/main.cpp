// SPDX-License-Identifier: Apache-2.0
/// slowpath_fuzz TARGET INPUTS SEED: give a reader spoilt inputs, print what became of them as one line of
/// JSON.
///
/// The first crash ends it: the sanitizers abort, and the input stands in the file `fuzz-TARGET.bin`, which
/// is written before a reader that is about to be given it only when the run is repeated with KEEP as the
/// fourth word.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "fuzz/targets.hpp"

namespace {

using namespace slowpath::fuzz;

struct Counts {
    std::uint64_t taken = 0;
    double slowest_s = 0;
};

void keep(std::string_view target, const std::string& input) {
    std::ofstream("fuzz-" + std::string(target) + ".bin", std::ios::binary) << input;
}

/// Processor time, so that a busy machine makes no input slow.
double cpu_s() {
    return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

Counts run(const Target& target, std::uint64_t inputs, std::uint64_t seed, bool keep_each) {
    const std::vector<std::string> seeds = target.seeds();
    Random random(seed);
    Counts counts;
    for (std::uint64_t i = 0; i < inputs; ++i) {
        const std::string input = target.input(seeds, random);
        if (keep_each) keep(target.name, input);
        const double begin_s = cpu_s();
        try {
            counts.taken += target.read(seeds, input) ? 1 : 0;
        } catch (const std::exception& error) {
            keep(target.name, input);
            throw Defect("input " + std::to_string(i) + ": " + error.what());
        }
        counts.slowest_s = std::max(counts.slowest_s, cpu_s() - begin_s);
    }
    return counts;
}

std::optional<std::uint64_t> number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

/// Memory that was freed is soon given back, so that the peak is the readers' own.
extern "C" const char* __asan_default_options() {
    return "quarantine_size_mb=8";
}

int main(int argc, char** argv) {
    const std::vector<std::string_view> words(argv + 1, argv + argc);
    const auto inputs = words.size() > 1 ? number(words[1]) : std::nullopt;
    const auto seed = words.size() > 2 ? number(words[2]) : std::nullopt;
    for (const Target& target : targets()) {
        if (words.empty() || words[0] != target.name || !inputs || !seed) continue;
        try {
            const Counts counts = run(target, *inputs, *seed, words.size() > 3 && words[3] == "KEEP");
            rusage used{};
            getrusage(RUSAGE_SELF, &used);
            std::printf("{\"inputs\": %llu, \"taken\": %llu, \"slowest_s\": %.6f, \"peak_bytes\": %lld}\n",
                        static_cast<unsigned long long>(*inputs),
                        static_cast<unsigned long long>(counts.taken), counts.slowest_s,
                        static_cast<long long>(used.ru_maxrss) * 1024);
            return 0;
        } catch (const std::exception& error) {
            std::fprintf(stderr, "slowpath_fuzz: %s: %s\n", words[0].data(), error.what());
            return 1;
        }
    }
    std::fputs("usage: slowpath_fuzz plan|block|words INPUTS SEED [KEEP]\n", stderr);
    return 2;
}
