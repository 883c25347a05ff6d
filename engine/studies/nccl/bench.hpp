// SPDX-License-Identifier: Apache-2.0
/// What all libraries of a group are measured with: the stream, the barrier, the clock.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "mpi/barrier.hpp"
#include "nccl/buffers.hpp"
#include "nccl/contestant.hpp"
#include "nccl/parameters.hpp"
#include "nccl/series.hpp"

namespace slowpath::nccl {

/// Collective.  This rank's GPU, current from here on: those of a node in turn.
/// @return Why there is none; nullopt: there is.
std::optional<std::string> take_device(const Context& context, int& device);

/// Kept for the whole launch: the stream, and each library's communicator that is in use.  Freed with the
/// control communicator.
struct Kept {
    Kept(memory::CudaDriver& driver, int device) : stream(driver, device) {}
    ~Kept();
    Kept(const Kept&) = delete;
    Kept& operator=(const Kept&) = delete;

    /// Collective at the first call for a library.  @return nullptr: see why_not.
    Contestant* opened(const Context& context, const ContestantKind& kind);
    std::optional<std::string> why_not(std::string_view name) const;

    Stream stream;

  private:
    struct Entry {
        std::string_view name;
        std::unique_ptr<Contestant> contestant;
        std::optional<std::string> reason;
    };
    std::vector<Entry> entries_;
};

/// Local after take_device(), with the device that it gave.
Kept& kept(const Context& context, int device);

class Bench {
  public:
    Bench(const Context& context, const Stream& stream);

    /// Collective: all ranks wait for each other, those that take part make the call, and all wait for the
    /// stream.  Times Part::whole, submit and wait.
    void call(Contestant& contestant, const Call& call, Buffers& buffers, Series& to) const;
    /// The same, not stored.
    void call(Contestant& contestant, const Call& call, Buffers& buffers) const;
    void wait_for_all() const { barrier_.wait(); }
    /// The first rank's number, on all.
    std::int64_t decide(std::int64_t mine) const;
    const Context& context() const { return context_; }
    const Stream& stream() const { return stream_; }

  private:
    std::array<std::int64_t, 3> timed(Contestant& contestant, const Call& call, Buffers& buffers) const;

    const Context& context_;
    const Stream& stream_;
    std::vector<int> ranks_;
    mpi::Barrier barrier_;
};

/// A note with what the library says of itself (docs/internals/record.md); of rank 0 alone.
void record_library(const Context& context, const Contestant& contestant, GroupMember& member);

/// Collective: what the ranks compared, put together in the member's outcome.
void finish(const Context& context, const Buffers& buffers, GroupMember& member);

void skip(GroupMember& member, const std::string& reason);

}  // namespace slowpath::nccl
