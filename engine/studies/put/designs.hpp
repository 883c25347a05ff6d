// SPDX-License-Identifier: Apache-2.0
/// Which design of the layers a cell means.
#pragma once

#include "put/parameters.hpp"

namespace slowpath::put {

/// The registered design with the cell's name, call and checks.  A design that exists in one form only,
/// as the limits do, is found whatever call and checks say, if they are at their defaults.
/// @throws UsageError: there is none; says which there are.
const layers::Design& find_layer_design(const Config& config);

/// A loop of stores puts one value everywhere, the first word of the origin.
bool stores_one_value(const Config& config);

/// An empty call has nothing to validate.
bool moves_data(const Config& config);

}  // namespace slowpath::put
