// SPDX-License-Identifier: Apache-2.0
/// The parameters datatype, blocks and block_bytes.
#pragma once

#include <string>

#include "core/parameters.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

Datatype datatype_of(const std::string& word);

/// @throws UsageError: blocks that do not make up the message, or a datatype of too many elements.
Layout layout_of(const Assignment& assignment);

}  // namespace slowpath::p2p
