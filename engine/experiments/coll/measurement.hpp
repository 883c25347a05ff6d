// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "coll/calls.hpp"
#include "coll/operands.hpp"
#include "coll/team.hpp"
#include "experiment/context.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"

namespace slowpath::coll {

// The calls of a cell on the ranks that call, each rank's entry and exit of each.

/// A rank that enters later than this after its moment is a late start, ns: some times what two readings of a
/// clock and a loop around them take.
inline constexpr std::int64_t late_start_ns = 200;

/// Parts of samples, in the headers of their blocks (docs/internals/record.md).
namespace part {
inline constexpr std::uint64_t call = 0, late = 1, computation = 2, both = 3;
}

class Measurement {
  public:
    Measurement(Context& context, const Config& config, Team& team, Operands& operands, Meeting& meeting);

    /// Collective over the ranks that call.  @return Why the pattern could not be done, on all of them.
    std::optional<std::string> run();

    Judgement judgement{};
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;
    std::int64_t calls = 0;  ///< of this rank, timed
    std::int64_t late_starts = 0;
    std::optional<std::int64_t> together_ns{};  ///< what lateness is measured in

  private:
    std::optional<std::string> run_calls();
    std::optional<std::string> run_counted();
    std::optional<std::string> run_communicators();
    /// loop.cpp: the same of a pattern in which calls follow each other.
    std::int64_t time_in_loop(Call& call, std::int64_t count, std::int64_t fewest, double limit_s);
    /// overlap.cpp
    void time_overlap(Call& call, std::int64_t steps);
    std::int64_t overlap_steps();
    /// Communicators before the measured one.
    std::optional<std::string> make_duplicates();
    /// The next calls are on a communicator of their own.
    std::optional<std::string> use(bool fresh, std::int64_t number);
    /// At most `count` calls: `fewest` whatever they take, and more until `limit_s` have passed.
    /// @return How many, the same on all ranks.
    std::int64_t time(Call& call, std::int64_t count, std::int64_t fewest, double limit_s);
    void time_all(Call& call, std::int64_t count) { time(call, count, count, 0.0); }
    void warm_up(Call& call);
    void steady(Call& call);
    void begin_block(std::int64_t capacity);
    void end_block(Phase phase);
    /// A block of other times taken since begin_block(): a part of the samples (docs/internals/record.md).
    void add_part(Phase phase, std::uint64_t part, const Samples& samples);
    BlockHeader block_header(Phase phase, std::int64_t count) const;
    void check_result(const char* when, Call& call);
    void check_fresh_numbers(Call& call);
    std::int64_t delay_ns() const;
    std::int64_t decide(std::int64_t mine) const;
    std::int64_t highest(std::int64_t mine) const;

    Context& context_;
    const Config& config_;
    Team& team_;
    Operands& operands_;
    Meeting& meeting_;
    std::vector<int> ranks_;
    Samples samples_;
    std::vector<std::int64_t> late_ns_;
    double sample_ns_ = 0;  ///< a warm call with all that is around it
    double latest_ns_ = 0;  ///< when the last rank enters
    std::uint32_t allocation_ = 0;
    std::int64_t sample_ = 0;    ///< number of the next one
    bool was_put_back_ = false;  ///< buffers in place hold what goes in, and no result; on all ranks alike
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

}  // namespace slowpath::coll
