// SPDX-License-Identifier: Apache-2.0
#include "cannon/variants/home.hpp"

namespace slowpath::cannon {

SharedHome::SharedHome(const Stage& stage) {
    const Layout& layout = stage.layout;
    const std::int64_t elements = layout.a_elements() + layout.b_elements();
    MPI_Info info = MPI_INFO_NULL;
    mpi::check(MPI_Info_create(&info), "MPI_Info_create");
    // Each rank's part on pages of its own, so that first touch puts them into its NUMA node.
    mpi::check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    mpi::check(MPI_Win_allocate_shared(
                   static_cast<MPI_Aint>(elements) * static_cast<MPI_Aint>(sizeof(double)), sizeof(double),
                   info, stage.communicator, static_cast<void*>(&mine_), &window_),
               "MPI_Win_allocate_shared");
    mpi::check(MPI_Info_free(&info), "MPI_Info_free");
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    std::fill_n(mine_, elements, 0.0);
    bases_.resize(static_cast<std::size_t>(layout.rows) * static_cast<std::size_t>(layout.columns));
    for (std::size_t rank = 0; rank < bases_.size(); ++rank) {
        MPI_Aint bytes = 0;
        int unit = 0;
        double* base = nullptr;
        mpi::check(
            MPI_Win_shared_query(window_, static_cast<int>(rank), &bytes, &unit, static_cast<void*>(&base)),
            "MPI_Win_shared_query");
        bases_[rank] = base;
    }
    mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
}

SharedHome::~SharedHome() {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
}

Panels SharedHome::panels(const Layout& layout, int k) const {
    const auto a_owner = static_cast<std::size_t>(layout.a_home(k));
    const auto b_owner = static_cast<std::size_t>(layout.b_home(k));
    return {bases_[a_owner] + layout.a_offset(k), bases_[b_owner] + layout.a_elements() + layout.b_offset(k)};
}

}  // namespace slowpath::cannon
