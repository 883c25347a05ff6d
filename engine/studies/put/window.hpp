// SPDX-License-Identifier: Apache-2.0
/// An MPI window of each kind, over the two ranks.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memory/buffer.hpp"
#include "put/pair.hpp"
#include "put/parameters.hpp"

namespace slowpath::put {

class Window {
  public:
    /// Collective over the pair.  @throws mpi::Error: the library refuses.
    Window(WindowKind kind, std::size_t bytes, const WindowInfo& info, const Pair& pair);
    Window(const Window&) = delete;
    Window& operator=(const Window&) = delete;

    MPI_Win handle() const { return window_; }
    std::byte* base() const { return base_; }  ///< this rank's part
    /// Displacement of the target's first byte, and from one slot to the next.
    MPI_Aint first_displacement() const { return first_displacement_; }
    MPI_Aint displacements(std::int64_t length_bytes) const { return length_bytes / unit_bytes_; }
    /// Keys and values that MPI_Win_get_info gives, in its order.
    std::vector<std::pair<std::string, std::string>> kept_info() const;
    /// Collective.
    void release();

  private:
    void make(WindowKind kind, MPI_Aint bytes, MPI_Info info, MPI_Comm communicator);
    void attach(MPI_Aint bytes, const Pair& pair);

    MPI_Win window_ = MPI_WIN_NULL;
    std::optional<memory::Buffer> own_;  ///< create and dynamic: memory that MPI did not give
    std::byte* base_ = nullptr;
    bool attached_ = false;
    int unit_bytes_ = 8;  ///< that of a program whose window holds doubles
    MPI_Aint first_displacement_ = 0;
};

}  // namespace slowpath::put
