// SPDX-License-Identifier: Apache-2.0
#include "mockups/obstacles.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "mockups/calls.hpp"
#include "mockups/layout.hpp"

namespace slowpath::mockups {

namespace {

bool commutes(MPI_Op op) {
    int yes = 0;
    return op != MPI_OP_NULL && SLOWPATH_MPI(Op_commutative)(op, &yes) == MPI_SUCCESS && yes != 0;
}

bool is_built_in(MPI_Op op) {
    const std::array known{MPI_SUM, MPI_PROD, MPI_MAX,  MPI_MIN,  MPI_LAND,   MPI_LOR,
                           MPI_BOR, MPI_BAND, MPI_LXOR, MPI_BXOR, MPI_MINLOC, MPI_MAXLOC};
    return std::find(known.begin(), known.end(), op) != known.end();
}

using Obstacle = const char* (*)(const Arguments&);

/// The first that stands in the way.
const char* first(const Arguments& a, std::initializer_list<Obstacle> all) {
    for (const Obstacle one : all)
        if (const char* const found = one(a)) return found;
    return nullptr;
}

const char* order(const Arguments& a) {
    return commutes(a.op) ? nullptr : "the op does not commute";
}

}  // namespace

const char* unless_counted(const Arguments& a) {
    int is_inter = 0;
    SLOWPATH_MPI(Comm_test_inter)(a.communicator, &is_inter);
    if (is_inter != 0) return "an intercommunicator";
    const std::optional<std::int64_t> bytes = message_bytes(a);
    if (!bytes) return "arguments that do not say the length on every rank";
    // Twice: padding.
    if (2 * *bytes > std::numeric_limits<int>::max() / size_of(a.communicator))
        return "the blocks of all ranks, twice, are longer than an int counts";
    return nullptr;
}

const char* unless_commutative(const Arguments& a) {
    return first(a, {unless_counted, order});
}

const char* unless_built_in(const Arguments& a) {
    if (const char* const found = unless_counted(a)) return found;
    return is_built_in(a.op) ? nullptr : "an op of the user's can't be given elements that pad";
}

const char* unless_nodes(const Arguments& a) {
    if (const char* const found = unless_counted(a)) return found;
    const Nodes* const nodes = workspace_of(a.communicator).nodes();
    if (nodes == nullptr) return "the library does not say which ranks share a node";
    return nodes->count > 1 ? nullptr : "all ranks are on one node";
}

const char* unless_regular_nodes(const Arguments& a) {
    if (const char* const found = unless_counted(a)) return found;
    const Nodes* const nodes = workspace_of(a.communicator).nodes();
    if (nodes == nullptr) return "the library does not say which ranks share a node";
    return nodes->regular ? nullptr
                          : "the nodes do not have as many ranks each, one node's after the other's";
}

const char* unless_regular_nodes_and_commutative(const Arguments& a) {
    return first(a, {unless_regular_nodes, order});
}

const char* unless_nodes_and_commutative(const Arguments& a) {
    return first(a, {unless_nodes, order});
}

}  // namespace slowpath::mockups
