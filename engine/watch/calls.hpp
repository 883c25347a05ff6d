// SPDX-License-Identifier: Apache-2.0
/// The calls that are wrapped, by number: watch_calls.inc, which calls.cmake makes of calls.txt.
#pragma once

#include "watch/call.hpp"

namespace slowpath::watch {

/// calls::MPI_Send is the number of MPI_Send.
namespace calls {
enum Number : Call {
#define SLOWPATH_CALL(name, ...) name,
#include "watch_calls.inc"
#undef SLOWPATH_CALL
    count
};
}  // namespace calls

inline constexpr std::size_t call_count = calls::count;

/// By number.
extern const Shape shapes[call_count];

}  // namespace slowpath::watch
