// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/parameters.hpp"
#include "memory/buffer.hpp"
#include "mpi/transfer.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

// The parameters datatype, blocks and block_bytes.

/// Where both sides have blocks, they have the same.
/// @throws UsageError: blocks that do not make up the message, or a datatype of too many elements.
Shape shape_of(const Assignment& assignment, Side which);

// Blocks gathered by a plain loop, as programs write it, and the measured calls with what it gathered.

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

// How a message is handed to MPI: as bytes, as an element of a derived datatype, packed by the program, or
// as the numbers that the other side's blocks are made of.

class MessageEncoding {
  public:
    /// Of one side.  Local.  Builds the datatype, if there is one.  @throws mpi::Error.
    MessageEncoding(const Config& config, Side which);
    /// One piece of bytes.
    explicit MessageEncoding(std::int64_t message_bytes) : message_bytes_(message_bytes) {}
    ~MessageEncoding();
    MessageEncoding(const MessageEncoding&) = delete;
    MessageEncoding& operator=(const MessageEncoding&) = delete;

    /// Memory to pack in, if the program packs: like the message's own, so that nothing else differs.
    /// @param like Kind, pages and device.  @return Why that failed; nothing is thrown.
    std::optional<std::string> allocate(memory::Request like);
    /// Call `body` with the transfer of blocking calls: decided before anything is timed.
    template <class Body>
    void with_blocking(Body&& body) const {
        if (packed_ && loop_)
            return body(LoopTransfer{&*loop_, packed_->data(), numbers_->type, numbers_->count});
        if (packed_) return body(mpi::PackedTransfer{type_, packed_->data(), packed_bytes_});
        with_started(body);
    }
    /// The same for calls that start a message, and for blocking ones used with them; the program packs
    /// nothing.
    template <class Body>
    void with_started(Body&& body) const {
        if (type_ != MPI_DATATYPE_NULL) return body(mpi::TypedTransfer<>{type_});
        if (numbers_) return body(*numbers_);
        mpi::with_transfer(message_bytes_, body);
    }

  private:
    std::int64_t message_bytes_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    /// One piece where the other side has blocks: both sides have to name the same elements (MPI-4.1 section
    /// 3.3.1), and as many basic ones as a program's contiguous buffer has.  And what a loop packed.
    std::optional<mpi::TypedTransfer<int>> numbers_;
    std::optional<PackingLoop> loop_;
    int packed_bytes_ = 0;  ///< room to pack in
    bool packs_ = false;
    std::optional<memory::Buffer> packed_;
};

}  // namespace slowpath::p2p
