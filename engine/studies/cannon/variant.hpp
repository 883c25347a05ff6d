// SPDX-License-Identifier: Apache-2.0
/// What a communication style of Cannon's algorithm is to the contest.  Adding one: its class in
/// two_sided.cpp or one_sided.cpp, a line in strips.cpp, a row in docs/results/cannon.md; the tests run over
/// the registry.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cannon/multiply.hpp"

namespace slowpath::cannon {

/// Where the strips that a variant starts from come from.
enum class Placement {
    skewed,  ///< rank (i, j) starts with the strips that its step 0 needs
    home,    ///< rank (i, j) starts with A's strip of class j and B's strip of class i
};

/// How the memory of a window comes to be, for variants with one.
enum class WindowMemory { allocate, create };  ///< MPI_Win_allocate; MPI_Win_create on memory of our own

class OwnStrips;  // below

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

// Memory for strips, and the loop that all variants share which move strips from neighbour to neighbour.

/// Doubles on a page boundary, every page written by the rank that owns them: first touch decides the NUMA
/// node.
class Memory {
  public:
    explicit Memory(std::int64_t elements);
    double* data() const { return data_.get(); }
    std::int64_t elements() const { return elements_; }

  private:
    struct Free {
        void operator()(double* memory) const;
    };
    std::int64_t elements_;
    std::unique_ptr<double[], Free> data_;
};

/// Signalling nothing, but spreading: one NaN read makes every element of the product that it meets NaN.
void fill_with_nan(double* to, std::int64_t elements);

/// One strip or panel as one element of a datatype, so that no count of doubles must fit in an int
/// (MPI-4.1 5.1.2).
class StripType {
  public:
    explicit StripType(std::int64_t elements);
    ~StripType();
    StripType(const StripType&) = delete;
    StripType& operator=(const StripType&) = delete;
    MPI_Datatype get() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Two places for a strip of A and for one of B, used in turn; a strip that never moves stays in its first
/// place.
struct Strips {
    std::array<double*, 2> a_places{};
    std::array<double*, 2> b_places{};
    bool b_moves = true;
    int now = 0;

    int next() const { return 1 - now; }
    double* a() const { return a_places[static_cast<std::size_t>(now)]; }
    double* b() const { return b_places[static_cast<std::size_t>(b_moves ? now : 0)]; }
    double* next_a() const { return a_places[static_cast<std::size_t>(next())]; }
    double* next_b() const { return b_places[static_cast<std::size_t>(next())]; }
    void turn() { now = next(); }
    void restart() { now = 0; }
};

/// Tags of strips; both streams use one communicator.
inline constexpr int tag_a = 11;
inline constexpr int tag_b = 12;

/// Strips of a rank's own, in pageable memory.
class OwnStrips {
  public:
    explicit OwnStrips(const Layout& layout);
    Strips strips;
    void poison(const Layout& layout) const;

  private:
    std::array<Memory, 2> a_;
    std::array<Memory, 2> b_;
};

/// All steps: `begin` before and `end` after the multiplication of each step that another one follows; after
/// `end` the strips of the next step are in the next places.  @param poke null, or what runs between pieces
/// of the dgemm.
template <class Begin, class End>
void shift_steps(Stage& stage, Strips& strips, double* c, Begin&& begin, End&& end,
                 const std::function<void()>* poke = nullptr) {
    const Layout& layout = stage.layout;
    strips.restart();
    for (int step = 0; step < layout.steps(); ++step) {
        const bool moves = step + 1 < layout.steps();
        if (moves) begin(step);
        const int k = layout.k_of_step(step);
        const double* const a = strips.a() + layout.a_offset(k);
        const double* const b = strips.b() + layout.b_offset(k);
        if (moves && poke != nullptr)
            stage.multiply.in_pieces(step, a, b, c, *poke);
        else
            stage.multiply.whole(step, a, b, c);
        if (!moves) return;
        end(step);
        strips.turn();
    }
}

// The kinds, each defined in the file of its name.

extern const VariantKind compute_only, sendrecv_replace, sendrecv, isend_wait, isend_test, isend_test_apart,
    put_fence, put_fence_two_windows, pscw, put_flag, get_from_home, shared_copy, shared_direct, dgemm_alone;

/// For kinds that can run everywhere.
inline std::optional<std::string> no_obstacle(const Stage&) {
    return std::nullopt;
}

/// For kinds that need all ranks on one node.
inline std::optional<std::string> needs_one_node(const Stage& stage) {
    if (stage.one_node) return std::nullopt;
    return "it reads the memory of other ranks, and they are on several nodes";
}

template <class Kind>
std::unique_ptr<Variant> make(Stage& stage) {
    return std::make_unique<Kind>(stage);
}

}  // namespace slowpath::cannon
