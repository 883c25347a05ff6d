// SPDX-License-Identifier: Apache-2.0
/// Memory for strips, and the loop that all variants share which move strips from neighbour to neighbour.
#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "cannon/variant.hpp"

namespace slowpath::cannon {

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

}  // namespace slowpath::cannon
