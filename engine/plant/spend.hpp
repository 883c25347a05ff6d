// SPDX-License-Identifier: Apache-2.0
/// Where a planted cost goes: to user code, to the kernel, to waiting, or to a cold cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plant/clause.hpp"

namespace slowpath::plant {

/// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t now_ns();

/// Spend the time until `end_ns` in this place; not for Place::cold.
void spend_until(std::int64_t end_ns, Place place);

/// Put memory out of all caches of the machine. Without such an instruction: read other memory of 64 MiB.
void make_cold(const void* begin, std::size_t bytes);

}  // namespace slowpath::plant
