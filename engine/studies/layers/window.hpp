// SPDX-License-Identifier: Apache-2.0
/// A window whose parts are all reached by loads and stores: what MPI_Win_allocate_shared gives within a
/// node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "layers/datatype.hpp"

namespace slowpath::layers {

/// One node's ranks, not a job's.
inline constexpr std::size_t most_ranks = 1024;

/// One rank's part of a window, at its address in this process.
struct alignas(32) Peer {
    std::byte* base = nullptr;
    std::uint64_t bytes = 0;
    std::uint32_t displacement_unit_bytes = 1;
};

struct alignas(64) Window {
    /// Says that a pointer is one to a living window.
    static constexpr std::uint32_t living = 0x53505749;

    /// @param parts One for each rank, as MPI_Win_shared_query reports them; the memory must outlive the
    /// window.
    /// @param own_rank This process.
    /// @throws UsageError: no parts, more than most_ranks, own_rank not among them, a displacement unit of 0,
    /// a null base with bytes.
    Window(std::span<const Peer> parts, int own_rank);
    ~Window();
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    /// Open an access epoch to every rank, as MPI_Win_lock_all does, and make this window the one whose
    /// addresses the shmem layer takes (layers/shmem.hpp). Puts outside of an epoch answer error_epoch.
    void begin_epoch();
    /// Complete all puts, and end the epoch.
    void end_epoch();

    std::uint32_t magic = living;
    std::uint32_t open_ranks = 0;  ///< ranks that puts can go to now: all in an epoch, else 0
    const Peer* peers;
    const TypeRecord* types;  ///< type_records(), for code that is not in this executable
    std::int32_t ranks;
    std::int32_t own_rank;
    std::array<std::byte*, most_ranks> bases{};  ///< peers[i].base, for layers that check nothing

  private:
    std::unique_ptr<Peer[]> owned_peers_;
};

}  // namespace slowpath::layers
