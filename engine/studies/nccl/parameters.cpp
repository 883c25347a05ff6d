// SPDX-License-Identifier: Apache-2.0
#include "nccl/parameters.hpp"

#include <array>
#include <vector>

#include "core/error.hpp"

namespace slowpath::nccl {
namespace {

using enum ParameterType;
using enum ParameterRole;

std::vector<std::string_view> library_names() {
    std::vector<std::string_view> names;
    for (const ContestantKind* const kind : contestants()) names.push_back(kind->name);
    return names;
}

Parameter length(std::string_view name, std::string_view default_value, std::string_view minimum,
                 std::vector<std::string_view> words, std::string_view meaning) {
    return {.name = name,
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = default_value,
            .minimum = minimum,
            .maximum = "17179869184",
            .choices = std::move(words),
            .meaning = meaning};
}

Parameter number(std::string_view name, std::string_view default_value, std::string_view maximum,
                 std::string_view unit, std::string_view meaning) {
    return {.name = name,
            .type = count,
            .role = effort,
            .unit = unit,
            .default_value = default_value,
            .minimum = "1",
            .maximum = maximum,
            .meaning = meaning};
}

Parameter word(std::string_view name, std::string_view default_value, std::vector<std::string_view> choices,
               std::string_view meaning) {
    return {.name = name,
            .type = choice,
            .role = setting,
            .default_value = default_value,
            .choices = std::move(choices),
            .meaning = meaning};
}

std::vector<Parameter> table() {
    return {
        word("pattern", "calls", {"calls", "first_use"},
             "calls: the first call with each fresh pair of buffers, on a communicator in use, then later "
             "calls; "
             "first_use: a communicator of its own by named steps, its first call, then later ones"),
        word("library", "mpi", library_names(),
             "who does it, on one stream and the same buffers: MPI with device memory, MPI between copies "
             "through "
             "pinned host memory, NCCL, NVSHMEM between copies to and from its symmetric heap that are not "
             "timed; "
             "all libraries of equal other parameters are measured in turns"),
        word("operation", "allreduce",
             {"send", "allreduce", "bcast", "allgather", "reduce_scatter", "alltoall"},
             "send: one message from rank 0 to rank 1; reductions are sums of floats"),
        length("message_bytes", "1048576", "4", {},
               "of the message, of what each rank gives to allreduce, of a rank's block in the others; whole "
               "floats of 4 bytes"),
        length("buffer_bytes", "call", "0", {"call"},
               "length of each buffer before over-allocation; call, or too little: what the call needs"),
        length("overalloc_bytes", "0", "0", {},
               "added to the length of both buffers when they are allocated"),
        number("allocations", "3", "64", "", "calls: fresh pairs of buffers, each with a first call"),
        number("samples", "200", "1000000", "samples", "later calls at most, each timed by itself"),
        time_limit("time_limit_s", "0.1",
                   "later calls end after about this time even with fewer samples (at least 8)"),
        time_limit("warmup_s", "0.01", "calls: warm-up ends after about this time (at least 4 calls)"),
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "compare every element after the first call with each pair of buffers and in one call "
                       "after the timed ones; outside the timed regions",
        },
    };
}

constexpr Metric of_calls(std::string_view name, std::string_view meaning, std::string_view definition,
                          bool bandwidth = false) {
    return {.name = name,
            .unit = "s",
            .pattern = "calls",
            .meaning = meaning,
            .definition = definition,
            .bandwidth = bandwidth};
}

constexpr Metric of_first_use(std::string_view name, std::string_view meaning, std::string_view definition) {
    return {.name = name, .unit = "s", .pattern = "first_use", .meaning = meaning, .definition = definition};
}

constexpr std::string_view of_part = "longest sample of all ranks, this part";
constexpr std::string_view of_slowest =
    "this part, on the rank whose first use took longest; of several within 1 % the first";

constexpr std::array metric_table{
    of_calls("gpu_call_s",
             "one call on the slowest rank, from the call to the end of the work that it left on the stream",
             "longest sample of all ranks, part 0", true),
    of_calls("gpu_submit_s", "inside the library's call, on the slowest rank", of_part),
    of_calls("gpu_wait_s", "from the call's return to the end of the stream's work, on the slowest rank",
             of_part),
    of_first_use(
        "gpu_first_use_s",
        "all named steps of a first use together: from before the library is opened to the end of the "
        "first call with the message",
        "part 0, of the rank on which it took longest; of several within 1 % the first"),
    of_first_use("gpu_load_s", "the library is opened and its functions are found, once a process",
                 of_slowest),
    of_first_use("gpu_unique_id_s",
                 "rank 0 makes the id of the communicator; where kernels are loaded at once, NCCL loads them "
                 "here",
                 of_slowest),
    of_first_use("gpu_share_id_s", "the ranks agree that all have the library, and MPI_Bcast of the id",
                 of_slowest),
    of_first_use("gpu_runtime_s",
                 "NCCL's own CUDA runtime starts on every rank, and all wait for the last one", of_slowest),
    of_first_use("gpu_init_s",
                 "ncclCommInitRank; NVSHMEM: nvshmemx_hostlib_init_attr; MPI: MPI_Comm_dup of the world",
                 of_slowest),
    of_first_use("gpu_buffers_s", "NVSHMEM: buffers in its symmetric heap, and the data is copied there",
                 of_slowest),
    of_first_use(
        "gpu_one_element_s",
        "the first call, with one element of a small buffer: what the library connects and loads when "
        "it is first used",
        of_slowest),
    of_first_use("gpu_first_call_s", "the first call with the message and its buffers", of_slowest),
    of_first_use("gpu_init_kernels_s", "inside init, as NCCL reports it in steps of 10 ms: kernels",
                 of_slowest),
    of_first_use("gpu_init_alloc_s", "inside init, as NCCL reports it: allocations", of_slowest),
    of_first_use("gpu_init_bootstrap_s", "inside init, as NCCL reports it: the ranks find each other",
                 of_slowest),
    of_first_use("gpu_init_allgathers_s", "inside init, as NCCL reports it: the ranks exchange what they are",
                 of_slowest),
    of_first_use("gpu_init_topo_s", "inside init, as NCCL reports it: the topology is found", of_slowest),
    of_first_use("gpu_init_graphs_s", "inside init, as NCCL reports it: rings and trees are searched",
                 of_slowest),
    of_first_use("gpu_init_connections_s", "inside init, as NCCL reports it: the ranks connect", of_slowest),
    of_first_use("gpu_init_rest_s", "inside init, as NCCL reports it: what it has no word for", of_slowest),
    Metric{
        .name = "gpu_named_ratio",
        .unit = "1",
        .pattern = "first_use",
        .better = Better::higher,
        .meaning =
            "the part of a first use that has a name: all steps, and of NCCL's init what NCCL itself names",
        .definition =
            "(steps - init + NCCL's total without its rest) / part 0; steps / part 0 where the library names "
            "no parts of init",
    },
    of_first_use("gpu_later_call_s", "a call after the first one, on the slowest rank",
                 "longest sample of all ranks, part 0"),
};

}  // namespace

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> all = table();
    return all;
}

std::span<const Metric> metrics() {
    return metric_table;
}

Config configure(const Assignment& assignment) {
    const Config config{
        .first_use = assignment.text("pattern") == "first_use",
        .library = &contestant_named(assignment.text("library")),
        .operation = operation_from(assignment.text("operation")),
        .message_bytes = assignment.integer("message_bytes"),
        .buffer_bytes = assignment.text("buffer_bytes") == "call" ? 0 : assignment.integer("buffer_bytes"),
        .overalloc_bytes = assignment.integer("overalloc_bytes"),
        .allocations = assignment.integer("allocations"),
        .samples = assignment.integer("samples"),
        .time_limit_s = assignment.seconds("time_limit_s"),
        .warmup_s = assignment.seconds("warmup_s"),
        .validate = assignment.flag("validate"),
    };
    if (config.message_bytes % element_bytes != 0)
        throw UsageError("message_bytes=" + std::to_string(config.message_bytes) +
                         " is no whole number of floats of 4 bytes; take " +
                         std::to_string(config.message_bytes / element_bytes * element_bytes));
    return config;
}

}  // namespace slowpath::nccl
