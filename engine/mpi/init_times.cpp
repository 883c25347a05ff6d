// SPDX-License-Identifier: Apache-2.0
#include "mpi/init_times.hpp"

#include <unistd.h>

#include <ctime>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

namespace slowpath::mpi {
namespace {

std::int64_t read_ns(clockid_t which) {
    timespec now{};
    clock_gettime(which, &now);
    return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

std::int64_t loaded_ns = 0;
std::int64_t load_processor_ns = 0;

void note_loaded(int, char**, char**) {
    loaded_ns = read_ns(CLOCK_MONOTONIC);
    load_processor_ns = read_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/// Called when all libraries are mapped and relocated, before any of their constructors (System V ABI, gABI
/// chapter 5, DT_PREINIT_ARRAY).
[[gnu::used, gnu::section(".preinit_array")]] void (*const note)(int, char**, char**) = note_loaded;

/// Field 22 of proc(5) /proc/pid/stat, in ticks since boot; the name in field 2 may hold blanks.
std::optional<std::int64_t> born_ns() {
    std::ifstream file("/proc/self/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest(text.substr(name_end + 1));
    std::string field;
    for (int number = 3; number <= 22 && rest >> field; ++number) {
    }
    const long ticks_per_s = sysconf(_SC_CLK_TCK);
    if (!rest || ticks_per_s <= 0) return std::nullopt;
    const std::int64_t since_boot_ns = std::stoll(field) * (1'000'000'000 / ticks_per_s);
    return since_boot_ns - (read_ns(CLOCK_BOOTTIME) - read_ns(CLOCK_MONOTONIC));
}

}  // namespace

InitTimes process_times() {
    InitTimes times;
    times.load_processor_ns = load_processor_ns;
    times.loaded_ns = loaded_ns;
    times.born_ns = born_ns();
    return times;
}

}  // namespace slowpath::mpi
