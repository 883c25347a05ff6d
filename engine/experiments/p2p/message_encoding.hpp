// SPDX-License-Identifier: Apache-2.0
/// How a message is handed to MPI: as bytes, as an element of a derived datatype, packed by the program, or
/// as the numbers that the other side's blocks are made of.
#pragma once

#include <mpi.h>

#include <optional>

#include "memory/buffer.hpp"
#include "mpi/transfer.hpp"
#include "mpi/typed_transfer.hpp"
#include "p2p/packing_loop.hpp"
#include "p2p/parameters.hpp"

namespace slowpath::p2p {

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
