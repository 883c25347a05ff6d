// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "put/info.hpp"
#include "put/parameters.hpp"

namespace slowpath::put {
namespace {

using enum ParameterType;
using enum ParameterRole;

std::vector<std::string_view> window_info_names() {
    std::vector<std::string_view> names;
    for (const WindowInfo& info : window_infos()) names.push_back(info.name);
    return names;
}

std::vector<Parameter> table() {
    return {
        {
            .name = "pattern",
            .type = choice,
            .role = setting,
            .default_value = "burst",
            .choices = {"burst"},
            .meaning = "bursts of puts, each with the synchronisation that completes them",
        },
        {
            .name = "design",
            .type = choice,
            .role = setting,
            .default_value = "mpi",
            .choices = {"mpi", "complex", "simple", "small_args", "shmem_put", "shmem_p", "openshmem_put",
                        "openshmem_p", "empty_call", "empty_call_5", "store", "load_store", "unrolled_stores",
                        "memcpy", "fenced_store"},
            .meaning = "who puts: the MPI library, a reference layer, OpenSHMEM, or a limit",
        },
        {
            .name = "call",
            .type = choice,
            .role = setting,
            .default_value = "library",
            .choices = {"library", "inlined"},
            .meaning = "layers: called through libslowpath-layers.so, or inlined in the loop",
        },
        {
            .name = "checks",
            .type = flag,
            .role = setting,
            .default_value = "on",
            .meaning = "layers: check the arguments",
        },
        {
            .name = "operation",
            .type = choice,
            .role = setting,
            .default_value = "put",
            .choices = {"put", "get", "accumulate", "fetch_and_op", "compare_and_swap", "rput"},
            .meaning = "design=mpi: the call; accumulate and fetch_and_op add (MPI_SUM)",
        },
        {
            .name = "window",
            .type = choice,
            .role = setting,
            .default_value = "allocate",
            .choices = {"allocate", "create", "allocate_shared", "dynamic"},
            .meaning = "design=mpi: MPI_Win_allocate, MPI_Win_create of the program's own memory, "
                       "MPI_Win_allocate_shared, MPI_Win_create_dynamic and attached memory",
        },
        {
            .name = "synchronise",
            .type = choice,
            .role = setting,
            .default_value = "flush_all",
            .choices = {"flush_all", "fence", "pscw", "lock", "flush_local"},
            .meaning =
                "design=mpi: lock_all once and MPI_Win_flush, MPI_Win_fence, MPI_Win_start and "
                "MPI_Win_complete, MPI_Win_lock and MPI_Win_unlock, lock_all once and MPI_Win_flush_local",
        },
        {
            .name = "datatype",
            .type = choice,
            .role = setting,
            .default_value = "predefined",
            .choices = {"predefined", "contiguous", "vector", "indexed", "large_count"},
            .meaning = "of both sides: MPI_DOUBLE (compare_and_swap: MPI_INT64_T), struct of int and float, "
                       "vector and indexed of 2 floats with gaps, MPI_DOUBLE with the large-count function",
        },
        {
            .name = "target_datatype",
            .type = choice,
            .role = setting,
            .default_value = "same",
            .choices = {"same", "vector", "indexed"},
            .meaning =
                "operation=put: of the target's side; other than the origin's only where both are 2 floats, "
                "so datatype=vector or indexed",
        },
        {
            .name = "target_busy_s",
            .type = seconds,
            .role = covariate,
            .unit = "s",
            .default_value = "0",
            .minimum = "0",
            .maximum = "1",
            .meaning =
                "passive target: it computes so long between its calls of MPI; 0: it waits in a call of MPI",
        },
        {
            .name = "message_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "8",
            .maximum = "1TiB",
            .meaning = "payload of one put, a multiple of 8",
        },
        {
            .name = "puts",
            .type = count,
            .role = covariate,
            .unit = "puts",
            .default_value = "1000",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "puts in a burst, before the synchronisation",
        },
        {
            .name = "window_info",
            .type = choice,
            .role = setting,
            .default_value = "default",
            .choices = window_info_names(),
            .meaning = "design=mpi: an info key of the window, by its name in docs/results/put.md",
        },
        {
            .name = "order",
            .type = choice,
            .role = setting,
            .default_value = "sequential",
            .choices = {"same", "sequential", "line", "random"},
            .meaning = "where the puts of a burst go: one slot, slot after slot, a new cache line of 64 "
                       "bytes each time, a fixed random permutation",
        },
        {
            .name = "instructions",
            .type = count,
            .role = effort,
            .unit = "puts",
            .default_value = "16",
            .minimum = "0",
            .maximum = "10000",
            .meaning = "puts that are counted instruction by instruction; 0: none",
        },
        {
            .name = "samples",
            .type = count,
            .role = effort,
            .unit = "samples",
            .default_value = "200",
            .minimum = "1",
            .maximum = "100000000",
            .meaning = "steady samples at most, of whole bursts and as many of split ones",
        },
        {
            .name = "time_limit_s",
            .type = seconds,
            .role = effort,
            .unit = "s",
            .default_value = "0.1",
            .minimum = "0",
            .maximum = "86400",
            .meaning = "whole bursts, and split ones, each end after about this time even with fewer samples "
                       "(at least 8 are taken)",
        },
        {
            .name = "warmup_s",
            .type = seconds,
            .role = effort,
            .unit = "s",
            .default_value = "0.01",
            .minimum = "0",
            .maximum = "86400",
            .meaning = "warm-up ends after about this time (at least 4 bursts)",
        },
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "compare all of the memory byte for byte after the timed bursts and after one more "
                       "with new bytes, outside the timed region",
        },
    };
}

constexpr std::array metric_table{
    Metric{
        .name = "time_per_put_s",
        .unit = "s",
        .pattern = "burst",
        .meaning = "one put and its share of the synchronisation",
        .definition = "sample / (batch puts)",
        .bandwidth = true,
        .message_rate = true,
    },
    Metric{
        .name = "put_call_s",
        .unit = "s",
        .pattern = "burst",
        .meaning = "one put of a burst, without the synchronisation",
        .definition = "sample of part 1 / puts",
    },
    Metric{
        .name = "synchronisation_s",
        .unit = "s",
        .pattern = "burst",
        .meaning = "the synchronisation that ends a burst",
        .definition = "sample of part 2",
    },
    Metric{
        .name = "message_rate_per_s",
        .unit = "1/s",
        .pattern = "burst",
        .better = Better::higher,
        .meaning = "puts over time",
        .definition = "1 / time_per_put_s",
    },
    Metric{
        .name = "instructions_per_put",
        .unit = "instructions",
        .pattern = "burst",
        .meaning = "instructions inside the calls of one put",
        .definition = "counted one by one, in bursts of their own",
    },
    Metric{
        .name = "instructions_per_synchronisation",
        .unit = "instructions",
        .pattern = "burst",
        .meaning = "instructions inside the calls of the synchronisation",
        .definition = "counted one by one, after `instructions` puts",
    },
};

}  // namespace

std::span<const Parameter> parameters() {
    // Made at the first use, since the table of info keys may come later in static initialisation.
    static const std::vector<Parameter> made = table();
    return made;
}

std::span<const Metric> metrics() {
    return metric_table;
}

}  // namespace slowpath::put
