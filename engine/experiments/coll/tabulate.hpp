// SPDX-License-Identifier: Apache-2.0
/// A cell's row of the table on stdout.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::coll {

/// Medians of T_work, T_span and T_own over the steady calls, or over the first ones where there are no
/// others.
TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

}  // namespace slowpath::coll
