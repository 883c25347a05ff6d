// SPDX-License-Identifier: Apache-2.0
#include "replace/members.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace slowpath::replace {

namespace {

int forget(MPI_Comm, int, void* members, void*) {
    delete static_cast<Members*>(members);
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        int value = MPI_KEYVAL_INVALID;
        PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr);
        return value;
    }();
    return made;
}

bool are_all_of_this_world(MPI_Comm communicator, int size) {
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Group world = MPI_GROUP_NULL;
    if (PMPI_Comm_group(communicator, &group) != MPI_SUCCESS) return false;
    std::vector<int> ranks(static_cast<std::size_t>(size));
    std::iota(ranks.begin(), ranks.end(), 0);
    std::vector<int> in_world(ranks.size(), MPI_UNDEFINED);
    PMPI_Comm_group(MPI_COMM_WORLD, &world);
    PMPI_Group_translate_ranks(group, size, ranks.data(), world, in_world.data());
    PMPI_Group_free(&world);
    PMPI_Group_free(&group);
    return std::find(in_world.begin(), in_world.end(), MPI_UNDEFINED) == in_world.end();
}

Members* make(MPI_Comm communicator) {
    auto* made = new Members;
    int is_inter = 1;
    PMPI_Comm_test_inter(communicator, &is_inter);
    PMPI_Comm_rank(communicator, &made->rank);
    PMPI_Comm_size(communicator, &made->size);
    made->share_the_table = is_inter == 0 && are_all_of_this_world(communicator, made->size);
    PMPI_Comm_set_attr(communicator, key(), made);
    return made;
}

}  // namespace

Members* members_of(MPI_Comm communicator) {
    void* found = nullptr;
    int is_there = 0;
    if (PMPI_Comm_get_attr(communicator, key(), static_cast<void*>(&found), &is_there) != MPI_SUCCESS)
        return nullptr;
    return is_there != 0 ? static_cast<Members*>(found) : make(communicator);
}

}  // namespace slowpath::replace
