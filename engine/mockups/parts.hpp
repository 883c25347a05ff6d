// SPDX-License-Identifier: Apache-2.0
/// A message in parts: A(kn) <= k A(n).
#pragma once

#include <algorithm>

#include "mockups/calls.hpp"

namespace slowpath::mockups {

/// @param step (from, length) of each part, in order; its error code ends it.
template <class Step>
int in_parts(int count, int parts, const Step& step) {
    const int part = std::max(1, count / parts + (count % parts != 0 ? 1 : 0));
    for (int from = 0; from < count; from += part) SLOWPATH_STEP(step(from, std::min(part, count - from)));
    return MPI_SUCCESS;
}

}  // namespace slowpath::mockups
