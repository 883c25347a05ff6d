// SPDX-License-Identifier: Apache-2.0
/// What moving bytes costs inside one process: the processor's own copy, and the GPU's.
#pragma once

#include <optional>
#include <string>

#include "yardstick/timed.hpp"

namespace slowpath::yardstick {

/// `memcpy`: the same bytes again and again, between two buffers that no one else touches.
Timed copy_warm(std::int64_t bytes);
/// `memcpy_cold`: both buffers are in no cache.  Missing where this processor's caches can't be emptied by a
/// program.
Timed copy_cold(std::int64_t bytes);

/// Where the two ends of a message are on GPUs; nullopt: in memory of the CPU.
struct GpuEnds {
    std::optional<int> from, to;  ///< ordinals in this process
};
/// `gpu_copy`, `gpu_peer_copy`, `gpu_to_host` or `gpu_from_host`: by the driver, several at a time.
Timed copy_on_gpus(std::int64_t bytes, const GpuEnds& ends);

}  // namespace slowpath::yardstick
