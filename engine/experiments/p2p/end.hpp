// SPDX-License-Identifier: Apache-2.0
/// This rank's end of a cell: its role, its fresh memory, the checks of its payload, its blocks.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "core/batch.hpp"
#include "core/samples.hpp"
#include "core/witness.hpp"
#include "experiments/context.hpp"
#include "experiments/p2p/payload.hpp"
#include "experiments/p2p/roles.hpp"
#include "mpi/barrier.hpp"

namespace slowpath::p2p {

/// Tag of every measured message.
inline constexpr int message_tag = 77;

class End {
  public:
    End(Context& context, const Config& config);

    Context& context() { return context_; }
    const Config& config() const { return config_; }
    const Roles& roles() const { return roles_; }
    /// Where this end's messages of one direction stand.  @param from The side that sends in this direction.
    std::byte* data(Side from = Side::sender) const { return held(from).buffer.data(); }
    Samples& samples() { return samples_; }
    const mpi::Barrier& barrier() const { return barrier_; }

    /// Free the old buffers and allocate new ones, one a direction, if this rank takes part.
    /// @return Why that failed; nothing is thrown, since all ranks must hear of it.
    std::optional<std::string> renew(std::int64_t allocation);
    /// One line "allocation" for events.jsonl for each buffer.
    void record_allocations();

    /// Write what this end needs before the message `number` of the allocation goes from `from` to the other
    /// side.
    void prepare(std::uint64_t number, Side from);
    /// Compare what arrived from `from` with the message `number`; nothing on the side that sent it.
    /// @param when For the reason, "after the first message".
    void compare(std::uint64_t number, Side from, const char* when);

    /// Open a block.  @param capacity Samples at most.
    void begin_block(std::int64_t capacity);
    /// Close it; a block without samples is dropped.
    void end_block(Phase phase, std::uint32_t batch, std::int64_t first_sample, bool with_starts);
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
    const Held& held(Side from) const { return *held_[from == Side::sender ? 0 : 1]; }
    Held& held(Side from) { return *held_[from == Side::sender ? 0 : 1]; }
    void record_allocation(Side from);
    std::uint64_t seed(std::uint64_t number, Side from) const;

    Context& context_;
    Config config_;
    Roles roles_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::array<std::optional<Held>, 2> held_;  ///< by the side that sends
    std::int64_t allocation_ = 0;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

/// The fresh memory that one side asks for.
memory::Request request_for(const Context& context, const Config& config, Side side);

}  // namespace slowpath::p2p
