// SPDX-License-Identifier: Apache-2.0
/// What recording one call costs here, by the recorder's own code on memory of its own.
#pragma once

#include <cstdint>

namespace slowpath::watch {

/// Between the record's opening and the program's first call: the recorder is given sends of its own making,
/// and nothing of them stays. MPI is asked nothing.
/// @return Median over blocks of `before`, `after` and two readings of the clock, of a send with its event
/// and without a buffer; 0: no memory to try it on.
std::uint32_t measure_call_cost_ns();

}  // namespace slowpath::watch
