// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace slowpath::ipc {

/// This process as an entry of launch_begin's `ranks` (docs/internals/record.md), its clock calibrated now; a
/// few ms.
std::string describe_process(std::uint32_t rank);

}  // namespace slowpath::ipc
