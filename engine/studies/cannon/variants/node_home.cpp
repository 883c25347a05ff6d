// SPDX-License-Identifier: Apache-2.0
#include "cannon/variants/node_home.hpp"

#include <algorithm>
#include <numeric>

namespace slowpath::cannon {

NodeHome::NodeHome(const Stage& stage) : layout_(stage.layout) {
    find_node(stage.communicator);
    share_memory();
    find_fetchers();
    const std::int64_t inputs = layout_.a_elements() + layout_.b_elements();
    mpi::check(MPI_Win_create(mine_, static_cast<MPI_Aint>(inputs) * static_cast<MPI_Aint>(sizeof(double)),
                              sizeof(double), MPI_INFO_NULL, stage.communicator, &window_),
               "MPI_Win_create");
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, window_), "MPI_Win_lock_all");
    mpi::check(MPI_Win_lock_all(MPI_MODE_NOCHECK, shared_), "MPI_Win_lock_all");
}

NodeHome::~NodeHome() {
    MPI_Win_unlock_all(shared_);
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
    MPI_Win_free(&shared_);
    MPI_Comm_free(&node_);
}

void NodeHome::find_node(MPI_Comm communicator) {
    mpi::check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node_),
               "MPI_Comm_split_type");
    std::vector<int> ranks(static_cast<std::size_t>(layout_.rows) *
                           static_cast<std::size_t>(layout_.columns));
    std::iota(ranks.begin(), ranks.end(), 0);
    node_rank_of_.resize(ranks.size());
    MPI_Group all = MPI_GROUP_NULL, here = MPI_GROUP_NULL;
    mpi::check(MPI_Comm_group(communicator, &all), "MPI_Comm_group");
    mpi::check(MPI_Comm_group(node_, &here), "MPI_Comm_group");
    mpi::check(MPI_Group_translate_ranks(all, static_cast<int>(ranks.size()), ranks.data(), here,
                                         node_rank_of_.data()),
               "MPI_Group_translate_ranks");
    mpi::check(MPI_Group_free(&all), "MPI_Group_free");
    mpi::check(MPI_Group_free(&here), "MPI_Group_free");
    int node_rank = 0;
    mpi::check(MPI_Comm_rank(node_, &node_rank), "MPI_Comm_rank");
    const int first_here = node_rank == 0 ? 1 : 0;
    mpi::check(MPI_Exscan(&first_here, &node_index_, 1, MPI_INT, MPI_SUM, communicator), "MPI_Exscan");
    if (layout_.rank_at(layout_.row, layout_.column) == 0) node_index_ = 0;
    mpi::check(MPI_Bcast(&node_index_, 1, MPI_INT, 0, node_), "MPI_Bcast");
    mpi::check(MPI_Allreduce(&first_here, &nodes_, 1, MPI_INT, MPI_SUM, communicator), "MPI_Allreduce");
}

void NodeHome::share_memory() {
    const auto bytes = static_cast<MPI_Aint>(b_place_offset(2)) * static_cast<MPI_Aint>(sizeof(double));
    MPI_Info info = MPI_INFO_NULL;
    mpi::check(MPI_Info_create(&info), "MPI_Info_create");
    mpi::check(MPI_Info_set(info, "alloc_shared_noncontig", "true"), "MPI_Info_set");
    mpi::check(
        MPI_Win_allocate_shared(bytes, sizeof(double), info, node_, static_cast<void*>(&mine_), &shared_),
        "MPI_Win_allocate_shared");
    mpi::check(MPI_Info_free(&info), "MPI_Info_free");
    std::fill_n(mine_, b_place_offset(2), 0.0);
    for (const int node_rank : node_rank_of_) {
        double* base = nullptr;
        if (node_rank != MPI_UNDEFINED) {
            MPI_Aint size = 0;
            int unit = 0;
            mpi::check(MPI_Win_shared_query(shared_, node_rank, &size, &unit, static_cast<void*>(&base)),
                       "MPI_Win_shared_query");
        }
        bases_.push_back(base);
    }
}

void NodeHome::find_fetchers() {
    const int me = layout_.rank_at(layout_.row, layout_.column);
    fetcher_of_row_ = fetcher_of_column_ = me;
    for (int column = layout_.columns - 1; column >= 0; --column)
        if (const int rank = layout_.rank_at(layout_.row, column); base_of(rank) != nullptr)
            fetcher_of_row_ = rank;
    for (int row = layout_.rows - 1; row >= 0; --row)
        if (const int rank = layout_.rank_at(row, layout_.column); base_of(rank) != nullptr)
            fetcher_of_column_ = rank;
}

std::int64_t NodeHome::a_place_offset(int which) const {
    return layout_.a_elements() + layout_.b_elements() + which * a_panel_elements(layout_);
}

std::int64_t NodeHome::b_place_offset(int which) const {
    return a_place_offset(2) + which * b_panel_elements(layout_);
}

}  // namespace slowpath::cannon
