// SPDX-License-Identifier: Apache-2.0
#include "p2p/parameter_tables.hpp"

#include "p2p/parameters.hpp"

namespace slowpath::p2p {
namespace {

std::vector<Parameter> all_parameters() {
    std::vector<Parameter> all = message_parameters();
    for (Parameter& one : exchange_parameters()) all.push_back(std::move(one));
    return all;
}

constexpr std::array metric_table{
    Metric{
        .name = "one_way_s",
        .unit = "s",
        .pattern = "one_way",
        .meaning = "from the start of MPI_Send to the end of MPI_Recv, on one clock",
        .definition = "end of the receive - start of the send; both ranks on one node",
        .bandwidth = true,
    },
    Metric{
        .name = "send_s",
        .unit = "s",
        .pattern = "one_way",
        .meaning = "inside MPI_Send",
        .definition = "sample of the sender",
    },
    Metric{
        .name = "receive_s",
        .unit = "s",
        .pattern = "one_way",
        .meaning = "inside MPI_Recv",
        .definition = "sample of the receiver: MPI_Recv, begun right after a barrier; posted=before: "
                      "MPI_Wait; posted=after: MPI_Probe and MPI_Recv",
    },
    Metric{
        .name = "send_barrier_s",
        .unit = "s",
        .pattern = "one_way",
        .meaning = "MPI_Send and the MPI_Barrier after it, seen by rank 0",
        .definition = "sample of rank 0 with synchronise=inside, as the reproducers time it",
    },
    Metric{
        .name = "communication_s",
        .unit = "s",
        .pattern = "overlap",
        .meaning = "a message each way at once, started and waited for",
        .definition = "sample of part 0, of the slower end",
        .bandwidth = true,
    },
    Metric{
        .name = "compute_s",
        .unit = "s",
        .pattern = "overlap",
        .meaning = "computing about as long, with no message under way",
        .definition = "sample of part 1, of the slower end",
    },
    Metric{
        .name = "overlapped_s",
        .unit = "s",
        .pattern = "overlap",
        .meaning = "messages started, computing, messages waited for",
        .definition = "sample of part 2, of the slower end",
    },
    Metric{
        .name = "exposed_s",
        .unit = "s",
        .pattern = "overlap",
        .meaning = "what communication adds to the time of the computation around it",
        .definition = "overlapped_s - compute_s",
    },
    Metric{
        .name = "exposed_communication_ratio",
        .unit = "1",
        .pattern = "overlap",
        .meaning = "the part of the communication that computing does not hide",
        .definition = "exposed_s / communication_s",
    },
    Metric{
        .name = "half_round_trip_latency_s",
        .unit = "s",
        .pattern = "ping_pong",
        .meaning = "half of one round trip, seen by rank 0",
        .definition = "sample / (2 batch)",
        .bandwidth = true,
    },
    Metric{
        .name = "poll_s",
        .unit = "s",
        .pattern = "polling",
        .meaning = "one call that finds nothing",
        .definition = "sample of the rank that polls / batch",
    },
    Metric{
        .name = "time_per_message_s",
        .unit = "s",
        .pattern = "windowed",
        .meaning = "one message of a window of messages, all pairs",
        .definition =
            "longest sample of all pairs / (batch in_flight pairs threads), direction=both: of twice as "
            "many messages",
        .bandwidth = true,
        .message_rate = true,
    },
    Metric{
        .name = "bandwidth_bytes_per_s",
        .unit = "B/s",
        .pattern = "windowed",
        .better = Better::higher,
        .meaning = "payload of all pairs over time",
        .definition = "message_bytes / time_per_message_s",
    },
    Metric{
        .name = "message_rate_per_s",
        .unit = "1/s",
        .pattern = "windowed",
        .better = Better::higher,
        .meaning = "messages of all pairs over time",
        .definition = "1 / time_per_message_s",
    },
};

}  // namespace

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> table = all_parameters();
    return table;
}
std::span<const Metric> metrics() {
    return metric_table;
}

}  // namespace slowpath::p2p
