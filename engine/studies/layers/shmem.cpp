// SPDX-License-Identifier: Apache-2.0
#include "layers/shmem.hpp"

#include <algorithm>

namespace slowpath::layers {

Symmetric symmetric;

void attach_symmetric(const Window* window) {
    symmetric = {};
    if (window == nullptr) return;
    const Peer* const parts = window->peers;
    symmetric.own_base = parts[window->own_rank].base;
    symmetric.bytes = parts[0].bytes;
    for (int i = 0; i < window->ranks; ++i) {
        symmetric.deltas_bytes[static_cast<std::size_t>(i)] =
            reinterpret_cast<std::intptr_t>(parts[i].base) -
            reinterpret_cast<std::intptr_t>(symmetric.own_base);
        symmetric.bytes = std::min(symmetric.bytes, parts[i].bytes);
    }
    symmetric.processing_elements = static_cast<std::uint32_t>(window->ranks);
}

}  // namespace slowpath::layers
