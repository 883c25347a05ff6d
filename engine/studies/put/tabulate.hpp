// SPDX-License-Identifier: Apache-2.0
/// The line of a cell on stdout.
#pragma once

#include "experiment/experiment.hpp"

namespace slowpath::put {

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers);

}  // namespace slowpath::put
