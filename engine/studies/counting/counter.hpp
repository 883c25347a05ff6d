// SPDX-License-Identifier: Apache-2.0
/// Instructions of calls, counted one by one inside this process, without privileges or hardware counters.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace slowpath::counting {

/// Instructions of one function of one library, over all counted calls.
struct Share {
    std::string library;   ///< file name without folder, "libmpi.so.12"
    std::string function;  ///< symbol, else "LIBRARY+0xOFFSET" of the function's frame description, else "?"
    std::uint64_t instructions = 0;
};

struct Count {
    std::string method;  ///< "trap flag"
    std::vector<std::uint32_t>
        stepped;  ///< per call, outside the program's own text; each rep iteration is one
    std::vector<std::uint32_t>
        retired;                ///< the same with the iterations of a rep-prefixed instruction as one
    std::uint64_t region = 0;   ///< all instructions between start and end: calls, call sites and loop
    std::vector<Share> shares;  ///< of `stepped`, largest first
};

/// Why calls can't be counted in this process; nullopt: they can.
std::optional<std::string> unavailable();

/// Run `region` once, stepping this thread through it.
///
/// A call begins where the instruction pointer leaves the program's own text (its executable, PLT included)
/// and ends where it comes back.  Other threads are not counted.  The caller warms up first: lazy binding,
/// heap.
/// @param limit Instructions at most; memory is taken and touched before.
/// @throws EnvironmentFailure: not available here, or more instructions than `limit`.
Count count(const std::function<void()>& region, std::size_t limit = std::size_t{1} << 22);

}  // namespace slowpath::counting
