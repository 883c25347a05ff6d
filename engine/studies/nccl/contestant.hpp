// SPDX-License-Identifier: Apache-2.0
/// The libraries under one roof: each does the same call with the same buffers, and has a first use of its
/// own.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiment/context.hpp"
#include "nccl/operation.hpp"
#include "nccl/part.hpp"
#include "nccl/stream.hpp"

namespace slowpath::nccl {

/// Times a named step of a first use: one after the other, each begins where the one before ended.
using Step = std::function<void(Part part, const std::function<void()>& body)>;

class Contestant {
  public:
    virtual ~Contestant() = default;

    /// Why this library can't do the operation here; nullopt: nothing is known.  Local, before open().
    virtual std::optional<std::string> obstacle(const Call& call) const = 0;

    /// Collective, once: a communicator of its own, by steps.
    /// @return Why not, the same on every rank; nullopt: the communicator is there.
    virtual std::optional<std::string> open(const Step& step) = 0;

    /// Memory of its own for calls as long as this one; before the first such call.  Local, not timed.
    virtual void prepare(const Call&) {}

    /// The call, by a rank that takes part.  When it returns, work may be left on the stream.
    /// @param from Device memory, of call.sent() elements.  @param to Of call.received().
    virtual void submit(const Call& call, const std::byte* from, std::byte* to) = 0;

    /// Whether it works in memory of its own, so that take() and deliver() are needed.
    virtual bool has_own_memory() const { return false; }
    /// What this rank gives is copied there.  Collective, before a call, not timed.
    virtual void take(const Call&, const std::byte* /*from*/) {}
    /// What the last such call left there is copied to `to`.  Collective, not timed.
    virtual void deliver(const Call&, std::byte* /*to*/) {}

    /// What the library itself says of its last open(), in seconds by named parts; empty: it says nothing.
    virtual std::map<Part, double> init_parts() const { return {}; }

    /// Collective: the communicator is freed.
    virtual void close() = 0;

    /// "NCCL 2.32.3", and where it is; empty: nothing to say.
    virtual std::string described() const { return {}; }
};

struct ContestantKind {
    std::string_view name;  ///< as the parameter `library` spells it
    std::unique_ptr<Contestant> (*make)(const Context& context, const Stream& stream);
};

extern const ContestantKind by_mpi, by_mpi_staged, by_nccl, by_nvshmem;

std::span<const ContestantKind* const> contestants();

/// @throws std::out_of_range: a word that the parameter's table does not have.
const ContestantKind& contestant_named(std::string_view name);

}  // namespace slowpath::nccl
