// SPDX-License-Identifier: Apache-2.0
/// What a communication style of Cannon's algorithm is to the skeleton.  Adding one: its file in variants/, a
/// line in variants.cpp, a row in docs/results/cannon.md; the tests run over the registry.
#pragma once

#include <mpi.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cannon/layout.hpp"
#include "cannon/multiply.hpp"
#include "cannon/timeline.hpp"

namespace slowpath::cannon {

/// Where the strips that a variant starts from come from.
enum class Placement {
    skewed,  ///< rank (i, j) starts with the strips that its step 0 needs
    home,    ///< rank (i, j) starts with A's strip of class j and B's strip of class i
};

/// How the memory of a window comes to be, for variants with one.
enum class WindowMemory { allocate, create };  ///< MPI_Win_allocate; MPI_Win_create on memory of our own

class OwnStrips;  // strips.hpp

/// All that a variant may use.  One per rank and cell; outlives the variant.
struct Stage {
    Layout layout;
    MPI_Comm communicator;  ///< rank = layout.rank_at(row, column); errors return
    Multiply& multiply;     ///< the local dgemm, whole or in panels of k with a poke between them
    Timeline& timeline;
    OwnStrips& own;  ///< pageable strips; variants without a window share them, since one runs at a time
    WindowMemory window = WindowMemory::allocate;
    bool one_node = true;  ///< all ranks share memory
};

class Variant {
  public:
    virtual ~Variant() = default;

    /// The memory that the inputs go into before each repetition; filled by the skeleton, outside the timed
    /// region.
    virtual double* a() = 0;
    virtual double* b() = 0;
    /// Makes a() and b() visible to whoever reads them remotely; outside the timed region, before a barrier.
    virtual void filled() {}

    /// Everything but the inputs' copies gets NaN, so that a missed transfer can't pass with stale data.
    virtual void poison() = 0;

    /// C += A B, all steps.  All communication and dgemm go through stage.timeline.
    /// @param c layout.c_elements(), zero at entry.  @throws mpi errors by mpi::check.
    virtual void run(double* c) = 0;

    /// After run(), outside the timed region and before the barrier that ends a repetition.  Collective.
    virtual void settle() {}

    /// What a reader of the numbers should know in addition to the name; empty: nothing.
    virtual std::string remark() const { return {}; }
};

struct VariantKind {
    std::string_view name;     ///< as the parameter `variant` has it
    std::string_view meaning;  ///< one line
    Placement placement;       ///< home: needs no skew at all
    bool across_nodes;         ///< false: needs all ranks on one node
    bool reads_inputs_only;    ///< A and B must be unchanged afterwards (checksums)
    /// Why it can't run here (the library lacks a function, ranks on several nodes); nullopt: it can.  Local.
    std::optional<std::string> (*obstacle)(const Stage&);
    /// Collective over the communicator.
    std::unique_ptr<Variant> (*make)(Stage&);
};

/// Every variant, in the order in which tables show them.
std::span<const VariantKind> variants();

}  // namespace slowpath::cannon
