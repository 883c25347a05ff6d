// SPDX-License-Identifier: Apache-2.0
/// This rank's end of a cell: its role, its fresh memory, the checks of its payload, its blocks.
#pragma once

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
    std::byte* data() const { return buffer_->data(); }
    Samples& samples() { return samples_; }
    const mpi::Barrier& barrier() const { return barrier_; }

    /// Free the old buffer and allocate a new one, if this rank takes part.
    /// @return Why that failed; nothing is thrown, since all ranks must hear of it.
    std::optional<std::string> renew(std::int64_t allocation);
    /// One line "allocation" for events.jsonl.
    void record_allocation();

    /// Write what this end needs before the message `number` of the allocation goes from `from` to the other
    /// side.
    void prepare(std::uint64_t number, Side from);
    /// Compare this end's buffer with the message `number`.  @param when For the reason, "after the first
    /// message".
    void compare(std::uint64_t number, const char* when);

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
    std::uint64_t seed(std::uint64_t number) const;

    Context& context_;
    Config config_;
    Roles roles_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::optional<memory::Buffer> buffer_;
    std::int64_t allocation_ = 0;
    bool reused_address_ = false;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

/// The fresh memory that one side asks for.
memory::Request request_for(const Context& context, const Config& config, Side side);

}  // namespace slowpath::p2p
