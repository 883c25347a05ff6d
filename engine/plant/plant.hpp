// SPDX-License-Identifier: Apache-2.0
/// The law of this process, and the delay that it asks for.
#pragma once

#include <cstdint>

#include "plant/allocations.hpp"
#include "plant/law.hpp"

namespace slowpath::plant {

/// The law where this process is a rank of the engine and SLOWPATH_PLANT is set; kind none elsewhere.
const Law& law();

/// One message at its call.
struct Message {
    Call call;
    const void* address;
    std::uint64_t bytes;
    std::uint64_t blocks;  ///< of all its elements together; 0: its datatype is no vector and not indexed
    std::uint64_t ahead;   ///< open receives of this process
    int rank;
};

/// Seconds that the law adds to this call; counts the use of its buffer.
double delay_s(const Message& message);

/// Nanoseconds of CLOCK_MONOTONIC.
std::int64_t now_ns();

/// Spin until `delay` seconds after `begin_ns`, so that what was worked out since then is a part of the
/// delay.
void spin(std::int64_t begin_ns, double delay);

}  // namespace slowpath::plant
