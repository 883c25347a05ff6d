// SPDX-License-Identifier: Apache-2.0
/// Do messages from pinned host memory travel slower within a node than those from pageable memory? The same
/// arguments and the same lines as the program whose logs first showed that they do.
#include <string>
#include <string_view>

#include "reproducers/message.hpp"
#include "reproducers/program.hpp"

namespace slowpath::reproducers {
namespace {

void pinned_host(const Ranks& ranks, const PinnedHostArguments& given) {
    print_line(ranks, std::string("mem_type: ") + memory::name(given.memory));
    print_line(ranks, "p2p_size: " + std::to_string(given.p2p_bytes));
    print_time(ranks, "-1", time_warmup(ranks, given.memory, given.p2p_bytes));
    print_heading(ranks, "Doing MPI_Send/Recv from rank 0 to rank " + std::to_string(ranks.last()) + ", of " +
                             std::to_string(given.p2p_bytes) + " bytes");
    print_iterations(ranks, given.memory, given.num_iterations, given.num_sub_iterations, given.p2p_bytes,
                     {given.p2p_bytes, given.p2p_bytes});
}

Program make(Words words) {
    const PinnedHostArguments given = parse_pinned_host(words);
    return {.largest_message_bytes = given.p2p_bytes,
            .body = [given](const Ranks& ranks) { pinned_host(ranks, given); }};
}

}  // namespace
}  // namespace slowpath::reproducers

int main(int argc, char** argv) {
    using namespace slowpath::reproducers;
    return run(argc, argv, pinned_host_usage, make);
}
