// SPDX-License-Identifier: Apache-2.0
#include "mockups/obstacles.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "mockups/calls.hpp"
#include "mockups/layout.hpp"

namespace slowpath::mockups {

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

const char* unless_own_op(const Arguments& a) {
    static const std::array predefined{MPI_MAX, MPI_MIN, MPI_SUM,  MPI_PROD, MPI_LAND,   MPI_BAND,
                                       MPI_LOR, MPI_BOR, MPI_LXOR, MPI_BXOR, MPI_MAXLOC, MPI_MINLOC};
    if (std::find(predefined.begin(), predefined.end(), a.op) == predefined.end())
        return "an op of the program's own";
    return unless_counted(a);
}

}  // namespace slowpath::mockups
