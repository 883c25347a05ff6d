// SPDX-License-Identifier: Apache-2.0
/// Valid inputs, spoilt a little: the same ones for the same seed.
#pragma once

#include <cstddef>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath::fuzz {

using Random = std::mt19937_64;

/// A number from 0 to `below` - 1; 0 for 0. Not std::uniform_int_distribution, whose results differ by
/// library.
std::size_t below(Random& random, std::size_t below);

/// One of `seeds` after 1 to 4 changes: a bit, a byte, a number put to an extreme, a part left out, doubled,
/// cut off or taken from another seed.
std::string mutated(const std::vector<std::string>& seeds, Random& random);

}  // namespace slowpath::fuzz
