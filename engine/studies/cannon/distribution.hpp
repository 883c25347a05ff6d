// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <memory>
#include <string>

#include "cannon/variant.hpp"

namespace slowpath::cannon {

// Where the inputs come from and where the product goes: made in place, through rank 0, or by a file of
// tiles.

enum class Source {
    in_place,  ///< each rank makes its strips from the hash: no rank holds more than its own
    root,      ///< rank 0 makes A and B whole, scatters strips and gathers C: the study's way, for comparison
    file,      ///< MPI-IO from a file in which each strip is contiguous, and C into another
};

const char* name(Source source);

class Distribution {
  public:
    virtual ~Distribution() = default;
    /// Fills a and b with the strips of this rank for `placement`.  Timed as generate or distribute.
    virtual void bring(Placement placement, double* a, double* b) = 0;
    /// Takes the product away.  Timed as gather; nothing for in_place.
    virtual void take(const double* c) = 0;
    virtual bool timed() const { return true; }
};

/// Collective.  @param folder For files; all ranks must see it.  @throws mpi::Error, EnvironmentFailure.
std::unique_ptr<Distribution> make_distribution(Source source, Stage& stage, const Inputs& inputs,
                                                const std::string& folder);

/// Class of the strip that this rank starts with.
int a_class(const Layout& layout, Placement placement);
int b_class(const Layout& layout, Placement placement);

}  // namespace slowpath::cannon
