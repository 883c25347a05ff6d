// SPDX-License-Identifier: Apache-2.0
/// Combinations of parameters that mean nothing, each with its reason.
#pragma once

#include "put/parameters.hpp"

namespace slowpath::put {

/// @throws UsageError: the first rule that the cell breaks, in one line.
void refuse_what_cannot_be(const Config& config, const Assignment& assignment);

}  // namespace slowpath::put
