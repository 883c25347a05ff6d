// SPDX-License-Identifier: Apache-2.0
/// The parameters datatype, blocks and block_bytes.
#pragma once

#include "core/parameters.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

/// Where both sides have blocks, they have the same.
/// @throws UsageError: blocks that do not make up the message, or a datatype of too many elements.
Shape shape_of(const Assignment& assignment, Side which);

}  // namespace slowpath::p2p
