// SPDX-License-Identifier: Apache-2.0
#include "layers/small_args.hpp"

namespace slowpath::layers {

int refuse_small_args(const void*, std::size_t bytes, int target, std::size_t, const Window* window) {
    if (window->open_ranks == 0) return error_epoch;
    if (target == proc_null) return success;
    if (static_cast<std::uint32_t>(target) >= window->open_ranks) return error_rank;
    return bytes == 0 ? success : error_range;
}

}  // namespace slowpath::layers
