// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::coll {

// A cell's row of the table on stdout.

/// Medians of T_work, T_span and T_own over the steady calls, or over the first ones where there are no
/// others.
TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

// The experiment `coll`: collectives, by the library or by other calls that do the same.

extern const Experiment experiment;

}  // namespace slowpath::coll
