// SPDX-License-Identifier: Apache-2.0
/// A number that all ranks of a launch share on one host, and no two launches.
#pragma once

#include <cstdint>

namespace slowpath::plant {

/// SLOWPATH_PLANT_LAUNCH, else PMIX_NAMESPACE, else the process that started the ranks and when it began.
std::uint64_t launch_number();

}  // namespace slowpath::plant
