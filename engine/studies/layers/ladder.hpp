// SPDX-License-Identifier: Apache-2.0
/// The ladder: what a full MPI adds to a bare store, put back one piece at a time
/// (docs/results/put.md).
///
/// Rung n is a function of libslowpath-layers.so that does all that rung n - 1 does, and one piece more, so
/// that the difference of two neighbours, in instructions or in time, is what that piece costs.
#pragma once

#include <span>
#include <string_view>

#include "layers/burst.hpp"

namespace slowpath::layers {

/// One rung: the piece that it adds to the rung below.
struct Rung {
    int number;
    std::string_view piece;    ///< one or two words, for a chart's axis
    std::string_view meaning;  ///< one line, for a report
    bool takes_datatypes;      ///< false: predefined datatypes only
};

/// All rungs, by number, from 0.
std::span<const Rung> ladder_rungs();

/// A design for each rung, in the same order; all named `ladder`, all called through the library.
std::span<const Design> ladder_designs();

}  // namespace slowpath::layers
