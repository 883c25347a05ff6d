// SPDX-License-Identifier: Apache-2.0
/// The steps that sharing one allocation with another process takes, and what is stored of each.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "record/witness.hpp"

namespace slowpath::ipc {

inline constexpr std::uint32_t exporter_rank = 0;
inline constexpr std::uint32_t importer_rank = 1;

/// In the order in which they are done; a block's seq0 is the step's number (docs/results/gpu.md).
enum class Step : std::uint32_t { export_handle, open, first_access, close, reopen, close_again };
inline constexpr std::size_t step_count = 6;

struct StepInfo {
    std::string_view name;
    std::string_view column;  ///< of the table on stdout
};

inline constexpr std::array<StepInfo, step_count> steps{{
    {"export", "Export (us)"},
    {"open", "Open (us)"},
    {"first_access", "First access (us)"},
    {"close", "Close (us)"},
    {"reopen", "Reopen (us)"},
    {"close_again", "Close again (us)"},
}};

/// One timed call. The witness is read before and after it, outside the timed region.
struct StepTime {
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;
    Witness before;
    Witness after;
};

/// Time `body` once.
template <class C, class Body>
StepTime timed(C& clock, Body&& body) {
    StepTime time;
    time.before = read_witness();
    time.begin_ns = clock.now_ns();
    body();
    time.end_ns = clock.now_ns();
    time.after = read_witness();
    return time;
}

}  // namespace slowpath::ipc
