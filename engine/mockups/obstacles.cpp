// SPDX-License-Identifier: Apache-2.0
#include "mockups/obstacles.hpp"

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

}  // namespace slowpath::mockups
