// SPDX-License-Identifier: Apache-2.0
/// Does the length of a GPU buffer, beyond the bytes that are sent, slow down its first message? The same
/// arguments and the same lines as the program whose logs first showed that it does.
#include <algorithm>
#include <string>
#include <string_view>

#include "reproducers/message.hpp"
#include "reproducers/program.hpp"

namespace slowpath::reproducers {
namespace {

void send_from(const Ranks& ranks, const OverallocArguments& given, bool with_overalloc) {
    const std::int64_t send_bytes = given.buffer_bytes + (with_overalloc ? given.overalloc_bytes : 0);
    const std::int64_t message_bytes = std::min(given.p2p_bytes, send_bytes);
    print_heading(ranks, "Doing MPI_Send/Recv from rank 0 to rank " + std::to_string(ranks.last()) + ", of " +
                             std::to_string(message_bytes) + " bytes from a buffer of " +
                             std::to_string(send_bytes) + " bytes (" + (with_overalloc ? "with" : "without") +
                             " overalloc).");
    print_iterations(ranks, given.memory, given.num_iterations, given.num_sub_iterations, message_bytes,
                     {send_bytes, given.p2p_bytes});
}

void overalloc(const Ranks& ranks, const OverallocArguments& given) {
    // The program whose lines these are knows GPU memory alone; a log of other memory has to say so.
    if (given.memory != memory::Kind::device)
        print_line(ranks, std::string("mem_type: ") + memory::name(given.memory));
    print_line(ranks, "p2p_size: " + std::to_string(given.p2p_bytes));
    print_line(ranks, "buffer_size: " + std::to_string(given.buffer_bytes));
    print_line(ranks, "overalloc_size: " + std::to_string(given.overalloc_bytes));
    print_time(ranks, "-1", time_warmup(ranks, given.memory, given.p2p_bytes));
    send_from(ranks, given, true);
    send_from(ranks, given, false);
}

Program make(Words words) {
    const OverallocArguments given = parse_overalloc(words);
    return {.largest_message_bytes = given.p2p_bytes,
            .body = [given](const Ranks& ranks) { overalloc(ranks, given); }};
}

}  // namespace
}  // namespace slowpath::reproducers

int main(int argc, char** argv) {
    using namespace slowpath::reproducers;
    return run(argc, argv, overalloc_usage, make);
}
