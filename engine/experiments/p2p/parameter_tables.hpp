// SPDX-License-Identifier: Apache-2.0
/// The parts of p2p's table of parameters, in the order in which `describe` shows them.
#pragma once

#include <string_view>
#include <vector>

#include "core/parameters.hpp"

namespace slowpath::p2p {

inline constexpr std::string_view any_length = "9223372036854775807";

/// What a message is: the memory it comes from and goes to, its length, how it lies there.
std::vector<Parameter> message_parameters();
/// How messages are exchanged: how many, by whom, when they are posted, how long it is measured.
std::vector<Parameter> exchange_parameters();

}  // namespace slowpath::p2p
