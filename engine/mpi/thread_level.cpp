// SPDX-License-Identifier: Apache-2.0
#include "mpi/thread_level.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "core/error.hpp"
#include "mpi/check.hpp"

namespace slowpath::mpi {
namespace {

constexpr const char* variable = "SLOWPATH_THREAD_LEVEL";

struct Level {
    int value;
    std::string_view name;
};
/// Ascending, as the standard orders them.
constexpr std::array levels{Level{MPI_THREAD_SINGLE, "single"}, Level{MPI_THREAD_FUNNELED, "funneled"},
                            Level{MPI_THREAD_SERIALIZED, "serialized"},
                            Level{MPI_THREAD_MULTIPLE, "multiple"}};

const Level& named(std::string_view name) {
    const auto found =
        std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.name == name; });
    if (found != levels.end()) return *found;
    throw UsageError(std::string(variable) + "=" + std::string(name) +
                     " is no thread level; take single, funneled, serialized or multiple, or unset it");
}

std::string name_of(int value) {
    const auto found =
        std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.value == value; });
    return found == levels.end() ? std::to_string(value) : std::string(found->name);
}

}  // namespace

ThreadLevels initialise() {
    ThreadLevels found;
    int provided = 0;
    if (const char* const text = std::getenv(variable); text != nullptr && *text != '\0') {
        const Level& level = named(text);
        found.asked = level.name;
        check(MPI_Init_thread(nullptr, nullptr, level.value, &provided), "MPI_Init_thread");
    } else {
        check(MPI_Init(nullptr, nullptr), "MPI_Init");
    }
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
    found.provided = name_of(provided);
    return found;
}

std::optional<std::string> too_low(const ThreadLevels& found) {
    const auto place = [](std::string_view name) {
        return std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.name == name; });
    };
    if (!found.asked || place(found.provided) >= place(*found.asked)) return std::nullopt;
    return std::string(variable) + " asks for " + *found.asked + ", and the MPI library provides " +
           found.provided;
}

}  // namespace slowpath::mpi
