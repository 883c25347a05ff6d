// SPDX-License-Identifier: Apache-2.0
/// Inputs at home in memory that the ranks of a node share and that ranks of other nodes get from; next to
/// them, places into which one rank of the node fetches what the node needs from elsewhere.
#pragma once

#include "cannon/variants/home.hpp"

namespace slowpath::cannon {

class NodeHome {
  public:
    explicit NodeHome(const Stage& stage);
    ~NodeHome();
    NodeHome(const NodeHome&) = delete;
    NodeHome& operator=(const NodeHome&) = delete;

    MPI_Comm node() const { return node_; }
    MPI_Win window() const { return window_; }  ///< over all ranks; displacements in doubles from a()
    bool alone() const { return nodes_ == 1; }
    int nodes() const { return nodes_; }
    int node_index() const { return node_index_; }

    double* a() const { return mine_; }
    double* b() const { return mine_ + layout_.a_elements(); }
    /// Where this rank's node sees the memory of `rank`; null: it is on another node.
    double* base_of(int rank) const { return bases_[static_cast<std::size_t>(rank)]; }
    /// Places of a rank of this node for what it fetches, two for each matrix.
    double* a_place(int rank, int which) const { return base_of(rank) + a_place_offset(which); }
    double* b_place(int rank, int which) const { return base_of(rank) + b_place_offset(which); }

    /// The lowest rank of this node in this rank's row, or column: it fetches for the others.
    int fetcher_of_row() const { return fetcher_of_row_; }
    int fetcher_of_column() const { return fetcher_of_column_; }

  private:
    std::int64_t a_place_offset(int which) const;
    std::int64_t b_place_offset(int which) const;
    void find_node(MPI_Comm communicator);
    void share_memory();
    void find_fetchers();

    Layout layout_;
    MPI_Comm node_ = MPI_COMM_NULL;
    MPI_Win shared_ = MPI_WIN_NULL;
    MPI_Win window_ = MPI_WIN_NULL;
    double* mine_ = nullptr;
    std::vector<int> node_rank_of_;  ///< by rank; MPI_UNDEFINED on other nodes
    std::vector<double*> bases_;
    int nodes_ = 1;
    int node_index_ = 0;
    int fetcher_of_row_ = 0;
    int fetcher_of_column_ = 0;
};

}  // namespace slowpath::cannon
