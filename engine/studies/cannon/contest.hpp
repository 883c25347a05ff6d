// SPDX-License-Identifier: Apache-2.0
/// Variants against each other: each repetition runs all of them, one after the other, so that a slow phase
/// of the machine hits all alike.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cannon/distribution.hpp"
#include "cannon/load.hpp"
#include "cannon/parameters.hpp"
#include "cannon/recorder.hpp"
#include "cannon/strips.hpp"
#include "cannon/verify.hpp"
#include "experiment/context.hpp"
#include "mpi/barrier.hpp"

namespace slowpath::cannon {

/// One variant that takes part.
struct Contestant {
    Contestant(const VariantKind& of_kind, GroupMember& of_member, Stage& stage)
        : kind(of_kind), member(of_member), variant(of_kind.make(stage)) {}

    const VariantKind& kind;
    GroupMember& member;
    std::unique_ptr<Variant> variant;
    Recorder warmup{Phase::warmup};
    Recorder steady{Phase::steady};
};

class Contest {
  public:
    /// Collective.  Members whose variant can't run here are skipped with the reason.
    Contest(Context& context, const Config& config, const Layout& layout, std::span<GroupMember> members);
    ~Contest();
    Contest(const Contest&) = delete;
    Contest& operator=(const Contest&) = delete;

    void run();

  private:
    void admit(GroupMember& member, const VariantKind& kind);
    /// @param number Below 0: warm-up.
    void repeat(Contestant& contestant, std::int64_t number);
    void timed_part(Contestant& contestant);
    void move_skew(Contestant& contestant);
    void check(Contestant& contestant, std::int64_t number, std::uint64_t inputs_before);
    void fail(Contestant& contestant, const std::string& reason);
    std::uint64_t inputs_of(Contestant& contestant) const;
    bool validates(const Contestant& contestant, std::int64_t number) const;
    void finish(Contestant& contestant);
    /// What multiplies, in words and as the record has it.
    struct Multiplier {
        std::string words;
        std::string json;
    };
    Multiplier multiplier() const;

    Context& context_;
    Config config_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    Layout layout_;
    Inputs inputs_;
    Timeline timeline_;
    Multiply multiply_;
    OwnStrips own_;
    Stage stage_;
    Memory c_;
    mpi::Barrier barrier_;
    std::unique_ptr<Distribution> distribution_;
    std::vector<std::unique_ptr<Contestant>> contestants_;
    std::optional<std::uint64_t> product_;  ///< integer numbers: checksum of the first checked variant's C
};

/// Intervals of one repetition at most.
std::size_t most_intervals(const Layout& layout, std::int64_t piece);

}  // namespace slowpath::cannon
