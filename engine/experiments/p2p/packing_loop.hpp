// SPDX-License-Identifier: Apache-2.0
/// Blocks gathered by a plain loop, as programs write it, and the measured calls with what it gathered.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "p2p/layout.hpp"

namespace slowpath::p2p {

/// Copies the blocks of one message, element by element.
class PackingLoop {
  public:
    /// @param element_bytes What is copied at once: 8, or 1 where blocks hold no whole numbers.
    /// @param has_list The places of the blocks are read from a list, as a program with an index array has
    /// them; else they are counted.
    PackingLoop(const Layout& layout, int element_bytes, bool has_list);
    /// @param packed Room for the message's bytes.
    void gather(const std::byte* data, std::byte* packed) const;
    /// @param data Nothing is written between the blocks.
    void scatter(const std::byte* packed, std::byte* data) const;

  private:
    Layout layout_;
    int element_bytes_;
    std::vector<int> places_;  ///< of the blocks, bytes; empty: block times stride
};

/// As in transfer.hpp of engine/mpi.
struct LoopTransfer {
    const PackingLoop* loop;
    std::byte* packed;
    MPI_Datatype type;  ///< predefined
    int count;
    int send(const std::byte* data, int to, int tag) const {
        loop->gather(data, packed);
        return MPI_Send(packed, count, type, to, tag, MPI_COMM_WORLD);
    }
    int receive(std::byte* data, int from, int tag) const {
        const int code = MPI_Recv(packed, count, type, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
        loop->scatter(packed, data);
        return code;
    }
};

}  // namespace slowpath::p2p
