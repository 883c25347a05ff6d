// SPDX-License-Identifier: Apache-2.0
/// One yardstick as measured, and the line that the record has of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slowpath::yardstick {

struct Timed {
    std::string name;             ///< docs/internals/statistics.md
    std::int64_t bytes = 0;       ///< of the message; 0: it has no length
    std::int64_t operations = 1;  ///< in each sample
    std::vector<std::int64_t> samples_ns{};
    std::optional<std::string> reason{};  ///< why there are no samples
};

/// The line `yardstick` for events.jsonl.
std::string line(const Timed& timed, int rank, int peer);

/// A short sample is all clock, and a long one takes time from what is measured.
inline constexpr std::int64_t sample_ns = 8'000;
/// Samples of each yardstick, and of those that take longer than long_ns.
inline constexpr int samples = 5, long_samples = 3;
inline constexpr std::int64_t long_ns = 200'000;

}  // namespace slowpath::yardstick
