// SPDX-License-Identifier: Apache-2.0
/// libFuzzer's entry points: `slowpath_fuzz --target=NAME [libFuzzer's own words]`, started by `make fuzz`.
/// Built by another compiler, `slowpath_fuzz NAME FOLDER` gives the reader each file of the folder once.
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "fuzz/targets.hpp"

#ifndef SLOWPATH_LIBFUZZER
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>
#endif

namespace {

using namespace slowpath::fuzz;

const Target* chosen = nullptr;

void choose(std::string_view name) {
    for (const Target& target : targets())
        if (target.name == name) chosen = &target;
    if (chosen != nullptr) return;
    std::fputs("slowpath_fuzz: error: the targets are", stderr);
    for (const Target& target : targets()) std::fprintf(stderr, " %s", target.name.data());
    std::fputs("\n", stderr);
    std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
    try {
        chosen->read({data, bytes});
    } catch (const std::exception& error) {
        std::fprintf(stderr, "slowpath_fuzz: %s: %s\n", chosen->name.data(), error.what());
        std::abort();
    }
    return 0;
}

#ifdef SLOWPATH_LIBFUZZER

/// libFuzzer leaves words with two dashes to the program.
extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
    constexpr std::string_view option = "--target=";
    std::string_view name;
    for (int i = 1; i < *count; ++i)
        if (const std::string_view word = (*words)[i]; word.starts_with(option))
            name = word.substr(option.size());
    choose(name);
    return 0;
}

#else

int main(int argc, char** argv) {
    if (argc != 3) {
        std::fputs("usage: slowpath_fuzz TARGET FOLDER\n", stderr);
        return 2;
    }
    choose(argv[1]);
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(argv[2])) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    for (const auto& path : paths) {
        std::ifstream file(path, std::ios::binary);
        const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    }
    std::printf("%s: %zu inputs\n", argv[1], paths.size());
    return paths.empty() ? 1 : 0;
}

#endif
