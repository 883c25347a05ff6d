// SPDX-License-Identifier: Apache-2.0
#include "layers/window.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <string>

#include "core/error.hpp"
#include "layers/library.hpp"
#include "layers/shmem.hpp"

namespace slowpath::layers {

Window::Window(std::span<const Peer> parts, int rank) {
    if (parts.empty() || rank < 0 || static_cast<std::size_t>(rank) >= parts.size()) {
        throw UsageError("a window of " + std::to_string(parts.size()) + " parts has no rank " +
                         std::to_string(rank));
    }
    if (parts.size() > most_ranks) {
        throw UsageError("a window of loads and stores has at most " + std::to_string(most_ranks) +
                         " ranks, not " + std::to_string(parts.size()) + ": use fewer ranks on a node");
    }
    for (const Peer& part : parts) {
        if (part.displacement_unit_bytes == 0)
            throw UsageError("a window's displacement unit is 0 bytes; it has to be at least 1");
        if (part.base == nullptr && part.bytes != 0)
            throw UsageError(
                "a part of a window has bytes but no address: this process can't load and store there");
    }
    owned_peers_ = std::make_unique<Peer[]>(parts.size());
    std::copy(parts.begin(), parts.end(), owned_peers_.get());
    std::transform(parts.begin(), parts.end(), bases.begin(), [](const Peer& part) { return part.base; });
    peers = owned_peers_.get();
    types = type_records();
    ranks = static_cast<std::int32_t>(parts.size());
    own_rank = rank;
}

Window::~Window() {
    if (open_ranks != 0) end_epoch();
    magic = 0;
}

void Window::begin_epoch() {
    open_ranks = static_cast<std::uint32_t>(ranks);
    attach_symmetric(this);
    slowpath_shmem_attach(this);
}

void Window::end_epoch() {
    std::atomic_thread_fence(std::memory_order_seq_cst);
    open_ranks = 0;
    attach_symmetric(nullptr);
    slowpath_shmem_attach(nullptr);
}

}  // namespace slowpath::layers
