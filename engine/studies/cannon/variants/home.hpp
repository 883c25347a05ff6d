// SPDX-License-Identifier: Apache-2.0
/// Variants whose inputs stay at home: each step reads its panels where they are, so that there is no skew,
/// no chain and no synchronisation of steps.  The inputs are read only.
#pragma once

#include <vector>

#include "cannon/variants/all.hpp"
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {

/// One panel of each matrix.
struct Panels {
    const double* a = nullptr;
    const double* b = nullptr;
};

/// Sizes of what one step multiplies.
inline std::int64_t a_panel_elements(const Layout& layout) {
    return layout.c_rows() * layout.panel();
}
inline std::int64_t b_panel_elements(const Layout& layout) {
    return layout.panel() * layout.c_columns();
}

/// The owners' inputs must be there before anybody reads them: part of what such a variant costs.
inline void start_together(Stage& stage) {
    stage.timeline.timed(Part::synchronise, 0,
                         [&] { mpi::check(MPI_Barrier(stage.communicator), "MPI_Barrier"); });
}

/// All ranks' inputs in shared memory of one node, each rank's where that rank touched it first.
class SharedHome {
  public:
    explicit SharedHome(const Stage& stage);
    ~SharedHome();
    SharedHome(const SharedHome&) = delete;
    SharedHome& operator=(const SharedHome&) = delete;

    double* a() const { return mine_; }
    double* b(const Layout& layout) const { return mine_ + layout.a_elements(); }
    MPI_Win window() const { return window_; }
    /// Panel k as its owner holds it; the pointer is to the owner's own memory.
    Panels panels(const Layout& layout, int k) const;
    void sync() const { mpi::check(MPI_Win_sync(window_), "MPI_Win_sync"); }

  private:
    MPI_Win window_ = MPI_WIN_NULL;
    double* mine_ = nullptr;
    std::vector<const double*> bases_;  ///< by rank
};

}  // namespace slowpath::cannon
