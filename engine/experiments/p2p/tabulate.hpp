// SPDX-License-Identifier: Apache-2.0
/// A cell's line on stdout.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::p2p {

/// Medians over the cell's samples; metrics as in tables.cpp.
TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

}  // namespace slowpath::p2p
