// SPDX-License-Identifier: Apache-2.0
#include "experiments/p2p/tables.hpp"

#include "experiments/p2p/parameters.hpp"

namespace slowpath::p2p {
namespace {

std::vector<Parameter> all_parameters() {
    std::vector<Parameter> all = message_parameters();
    for (Parameter& one : exchange_parameters()) all.push_back(std::move(one));
    return all;
}

constexpr std::array metric_table{
    Metric{"one_way_s", "s", "one_way", "receive end - send start: one clock, so within a node only"},
    Metric{"send_s", "s", "one_way", "duration of MPI_Send"},
    Metric{"receive_s", "s", "one_way",
           "duration of MPI_Recv, which was posted right after a barrier; posted=before: of MPI_Wait; "
           "posted=after: "
           "of MPI_Probe and MPI_Recv"},
    Metric{"send_barrier_s", "s", "one_way",
           "synchronise=inside: MPI_Send and MPI_Barrier on rank 0, as the reproducers time it"},
    Metric{"communication_s", "s", "overlap",
           "both ways at once, started and waited for; the slower of both ends"},
    Metric{"compute_s", "s", "overlap", "computing as long as rank 0 communicates, no message under way"},
    Metric{"overlapped_s", "s", "overlap", "messages started, computing, messages waited for"},
    Metric{"exposed_s", "s", "overlap", "overlapped_s - compute_s"},
    Metric{"exposed_communication_ratio", "1", "overlap", "exposed_s / communication_s"},
    Metric{"half_round_trip_latency_s", "s", "ping_pong", "sample / (2 batch)"},
    Metric{"time_per_message_s", "s", "windowed", "sample / (batch in_flight)"},
    Metric{"bandwidth_bytes_per_s", "B/s", "windowed", "bytes of all pairs over the longest sample"},
    Metric{"message_rate_per_s", "1/s", "windowed", "messages of all pairs over the longest sample"},
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
