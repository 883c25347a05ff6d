// SPDX-License-Identifier: Apache-2.0
/// Memory that other ranks put into or get from: a window by MPI_Win_allocate, or by MPI_Win_create on our
/// own memory.
#pragma once

#include <mpi.h>

#include <optional>

#include "cannon/strips.hpp"
#include "mpi/check.hpp"

namespace slowpath::cannon {

class Exposed {
  public:
    /// Collective.  @param elements Doubles of this rank; displacements are in doubles.
    Exposed(const Stage& stage, std::int64_t elements);
    ~Exposed();
    Exposed(const Exposed&) = delete;
    Exposed& operator=(const Exposed&) = delete;

    MPI_Win get() const { return window_; }
    double* data() const { return data_; }

  private:
    std::optional<Memory> own_;  ///< MPI_Win_create
    double* data_ = nullptr;
    MPI_Win window_ = MPI_WIN_NULL;
};

/// Strips in a window, two places for A and two for B: what variants that put share.
class PutStrips : public Variant {
  public:
    explicit PutStrips(Stage& stage);
    double* a() override { return strips_.a_places[0]; }
    double* b() override { return strips_.b_places[0]; }
    void poison() override;

  protected:
    /// Both strips into the next places of the left and the upper neighbour.
    void put_both();
    MPI_Win window() const { return exposed_.get(); }

    Stage& stage_;
    Exposed exposed_;
    Strips strips_;
    StripType a_type_;
    StripType b_type_;

  private:
    MPI_Aint place_of_a(int which) const { return which * stage_.layout.a_elements(); }
    MPI_Aint place_of_b(int which) const {
        return 2 * stage_.layout.a_elements() + which * stage_.layout.b_elements();
    }
};

}  // namespace slowpath::cannon
