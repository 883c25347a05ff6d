// SPDX-License-Identifier: Apache-2.0
/// This rank's end of a cell: its role, its fresh memory, the checks of its payload, its blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/batch.hpp"
#include "experiment/context.hpp"
#include "mpi/barrier.hpp"
#include "p2p/message_encoding.hpp"
#include "p2p/payload.hpp"
#include "p2p/roles.hpp"
#include "record/samples.hpp"
#include "record/witness.hpp"

namespace slowpath::p2p {

/// Tag of every measured message.
inline constexpr int message_tag = 77;

/// A buffer's place in the order in which operations use the buffers: forever one after the other, so that a
/// timed loop goes on by one load and tests nothing.
struct LiveBuffer {
    std::byte* forth = nullptr;  ///< where messages from the sender stand
    std::byte* back = nullptr;   ///< where those from the receiver stand; null in patterns of one direction
    const LiveBuffer* next = nullptr;
};

class Endpoint {
  public:
    Endpoint(Context& context, const Config& config);

    Context& context() { return context_; }
    const Config& config() const { return config_; }
    const Roles& roles() const { return roles_; }
    const MessageEncoding& encoding() const { return encoding_; }
    /// Of every second message, where two lengths alternate.
    const MessageEncoding* other_encoding() const { return other_ ? &*other_ : nullptr; }
    /// Of the longer of the two.
    const MessageEncoding& longest_encoding() const;
    /// What the encoding of the messages needs in addition to their buffers.  @return Why it could not be
    /// had.
    std::optional<std::string> allocate_encoding();
    /// Where this end's messages of one direction stand in the chosen buffer.
    /// @param from The side that sends in this direction.
    std::byte* data(Side from = Side::sender) const { return held(from).buffer.data(); }
    /// Where the next operation of the timed ones finds its messages. All ranks perform the same operations,
    /// so both ends of a message are at the same buffer.
    const LiveBuffer* next_buffer() const { return next_buffer_; }
    void continue_from(const LiveBuffer* buffer) { next_buffer_ = buffer; }
    Samples& samples() { return samples_; }
    const mpi::Barrier& barrier() const { return barrier_; }

    /// Free the old set of buffers and allocate a new one, live_buffers a direction, if this rank takes part;
    /// the first one is chosen then.
    /// @return Why that failed; nothing is thrown, since all ranks must hear of it.
    std::optional<std::string> renew(std::int64_t set);
    /// Choose one of the live buffers: what follows is about it, and the next operation uses it.
    /// @param index 0 to live_buffers - 1.
    void choose(std::int64_t index);
    /// Numbers of the live buffers in the order of their use.
    const std::vector<std::size_t>& order() const { return order_; }
    /// One line "allocation" for events.jsonl for each direction of the chosen buffer.
    void record_allocations();

    /// Write what this end needs before the message `number` of the chosen buffer goes from `from` to the
    /// other side.
    void prepare(std::uint64_t number, Side from);
    /// Compare what arrived from `from` with the message `number`; nothing on the side that sent it.
    /// @param when For the reason, "after the first message".
    void compare(std::uint64_t number, Side from, const char* when);

    /// Open a block.  @param capacity Samples at most.
    void begin_block(std::int64_t capacity);
    /// Close it; a block without samples is dropped.
    void end_block(Phase phase, std::uint32_t batch, std::int64_t first_sample, bool with_starts);
    /// In place of end_block, on ranks that store no times: what they called counts all the same.
    /// @param operations Those of the block.
    void end_calls(Phase phase, std::int64_t operations);
    /// A block of other times taken between begin_block() and end_block(): a part of the operations
    /// (docs/internals/record.md). What the kernel did meanwhile stands in the block of part 0 alone.
    void add_part(Phase phase, std::uint32_t batch, std::int64_t first_sample, std::uint64_t part,
                  const Samples& samples, bool with_starts = false);
    /// The number of the first of the ranks that take part, on all of them.
    std::int64_t decide(std::int64_t mine) const;

    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::string> first_wrong;
    std::uint32_t batch = 0;  ///< decided on the first allocation, kept for the others; 0 before
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;

  private:
    /// Fresh memory for the messages of one direction.
    struct Held {
        memory::Buffer buffer;
        bool reused_address;
    };
    /// By the side that sends.
    using Pair = std::array<std::optional<Held>, 2>;
    const Held& held(Side from) const { return *live_[chosen_][from == Side::sender ? 0 : 1]; }
    Held& held(Side from) { return *live_[chosen_][from == Side::sender ? 0 : 1]; }
    Held allocate();
    void close_ring();
    bool any_address_reused(Phase phase) const;
    BlockHeader block_header(Phase phase, std::uint32_t batch, std::int64_t first_sample) const;
    void record_allocation(Side from);
    std::uint64_t seed(std::uint64_t number, Side from) const;

    Context& context_;
    Config config_;
    Roles roles_;
    MessageEncoding encoding_;
    std::optional<MessageEncoding> other_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::vector<Pair> live_;
    std::vector<LiveBuffer> ring_;    ///< of live_, by index
    std::vector<std::size_t> order_;  ///< indices into both
    const LiveBuffer* next_buffer_ = nullptr;
    std::size_t chosen_ = 0;
    std::int64_t allocation_ = 0;  ///< number of the chosen buffer, counted over all sets
    std::int64_t set_ = 0;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

/// The fresh memory that one side asks for.
memory::Request request_for(const Context& context, const Config& config, Side side);

}  // namespace slowpath::p2p
