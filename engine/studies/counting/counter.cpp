// SPDX-License-Identifier: Apache-2.0
#include "counting/counter.hpp"

#include <algorithm>
#include <filesystem>

#include "core/error.hpp"
#include "counting/mappings.hpp"
#include "counting/names.hpp"
#include "counting/trap.hpp"

namespace slowpath::counting {
namespace {

constexpr std::size_t short_limit = 1 << 12;

/// Instructions of a region that does nothing: what setting the flag and calling the region costs.
std::size_t cost_of_nothing() {
    return step_through([] {}, short_limit).size();
}

/// The executable ranges of the program itself, linkage stubs included.
std::vector<Mapping> own_text(const std::vector<Mapping>& mappings) {
    std::error_code error;
    const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
    std::vector<Mapping> own;
    for (const Mapping& mapping : mappings)
        if (mapping.executable && !program.empty() && mapping.path == program) own.push_back(mapping);
    if (own.empty())
        throw EnvironmentFailure(
            "the program's own instructions are not found in /proc/self/maps, so calls can't be "
            "distinguished");
    return own;
}

/// Steps through a known number of instructions.  @return What is wrong with the result; nullopt: nothing.
std::optional<std::string> why_wrong() {
    // Emulators and instrumenting tools accept the flag and ignore it, or trap at other places.
    constexpr std::size_t steps = 100;
    const auto nothing = cost_of_nothing();
    const auto with_steps = step_through(
                                [] {
                                    asm volatile(".rept 100\n\tnop\n\t.endr" ::: "memory");
                                },
                                short_limit)
                                .size();
    if (nothing == 0 || with_steps != nothing + steps)
        return "the trap flag does not work here: " + std::to_string(steps) + " instructions made " +
               std::to_string(with_steps - std::min(nothing, with_steps)) +
               " traps (an emulator or an instrumenting tool?)";
    return std::nullopt;
}

}  // namespace

std::optional<std::string> unavailable() {
    if (auto reason = cannot_step()) return reason;
    try {
        return why_wrong();
    } catch (const EnvironmentFailure& failure) {
        return failure.what();
    }
}

Count count(const std::function<void()>& region, std::size_t limit) {
    const std::size_t nothing = cost_of_nothing();
    const std::vector<Traced> trace = step_through(region, limit);
    auto mappings = read_mappings("self");
    const std::vector<Mapping> own = own_text(mappings);
    const auto is_own = [&own](std::uint64_t address) { return find_mapping(own, address) != nullptr; };
    Calls calls = split_calls(trace, is_own);
    Count counted;
    counted.method = "trap flag";
    counted.stepped = std::move(calls.stepped);
    counted.retired = std::move(calls.retired);
    counted.region = trace.size() - std::min(nothing, trace.size());
    counted.shares = Names(std::move(mappings)).shares(calls.instructions);
    return counted;
}

}  // namespace slowpath::counting
