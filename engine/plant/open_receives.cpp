// SPDX-License-Identifier: Apache-2.0
#include "plant/open_receives.hpp"

namespace slowpath::plant {
namespace {

constexpr std::size_t most = 16384;

// One thread of the engine communicates at a time.
MPI_Request receives[most];
std::size_t count = 0;

}  // namespace

void opened(MPI_Request request) {
    if (count < most) receives[count++] = request;
}

bool closed(MPI_Request request) {
    for (std::size_t i = 0; i < count; ++i) {
        if (receives[i] != request) continue;
        receives[i] = receives[--count];
        return true;
    }
    return false;
}

std::uint64_t open_receives() {
    return count;
}

}  // namespace slowpath::plant
