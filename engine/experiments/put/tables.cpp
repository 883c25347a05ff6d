// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "experiments/put/info.hpp"
#include "experiments/put/parameters.hpp"

namespace slowpath::put {
namespace {

using enum ParameterType;

std::vector<std::string_view> window_info_names() {
    std::vector<std::string_view> names;
    for (const WindowInfo& info : window_infos()) names.push_back(info.name);
    return names;
}

/// A parameter whose values are words.
Parameter words(std::string_view name, std::string_view default_value, std::vector<std::string_view> choices,
                std::string_view meaning) {
    return {name, choice, "", default_value, "", "", std::move(choices), false, meaning};
}

Parameter counted(std::string_view name, std::string_view unit, std::string_view default_value,
                  std::string_view minimum, std::string_view maximum, std::string_view meaning) {
    return {name, count, unit, default_value, minimum, maximum, {}, false, meaning};
}

std::vector<Parameter> table() {
    return {
        words("pattern", "burst", {"burst"},
              "bursts of puts, each with the synchronisation that completes them"),
        words("design", "mpi",
              {"mpi", "complex", "simple", "small_args", "shmem_put", "shmem_p", "ladder", "openshmem_put",
               "openshmem_p", "openshmem_put_nbi", "openshmem_ptr", "empty_call", "empty_call_5", "store",
               "load_store", "unrolled_stores", "memcpy", "fenced_store"},
              "who puts: the MPI library, a reference layer, a rung of the ladder, OpenSHMEM, or a limit"),
        words("call", "library", {"library", "inlined"},
              "layers: called through libslowpath-layers.so, or inlined in the loop"),
        {"checks", flag, "", "on", "", "", {}, false, "layers: check the arguments"},
        counted("rung", "rungs", "0", "0", "1000", "ladder: how many of the pieces of an MPI are put back"),
        words("operation", "put", {"put", "get", "accumulate", "fetch_and_op", "compare_and_swap", "rput"},
              "design=mpi: the call; accumulate and fetch_and_op add (MPI_SUM)"),
        words("window", "allocate", {"allocate", "create", "allocate_shared", "dynamic"},
              "design=mpi: MPI_Win_allocate, MPI_Win_create of the program's own memory, "
              "MPI_Win_allocate_shared, MPI_Win_create_dynamic and attached memory"),
        words("synchronise", "flush_all", {"flush_all", "fence", "pscw", "lock", "flush_local"},
              "design=mpi: lock_all once and MPI_Win_flush, MPI_Win_fence, MPI_Win_start and "
              "MPI_Win_complete, MPI_Win_lock and MPI_Win_unlock, lock_all once and MPI_Win_flush_local"),
        words(
            "datatype", "predefined", {"predefined", "contiguous", "vector", "indexed", "large_count"},
            "of both sides: MPI_DOUBLE (compare_and_swap: MPI_INT64_T), struct of int and float, vector and "
            "indexed of 2 floats with gaps, MPI_DOUBLE with the large-count function"),
        {"message_bytes", bytes, "bytes", "8", "8", "1TiB", {}, false, "payload of one put, a multiple of 8"},
        counted("puts", "puts", "1000", "1", "1000000", "puts in a burst, before the synchronisation"),
        words("window_info", "default", window_info_names(),
              "design=mpi: an info key of the window, by its name in docs/reference/put.md"),
        words("order", "sequential", {"same", "sequential", "line", "random"},
              "where the puts of a burst go: one slot, slot after slot, a new cache line of 64 bytes each "
              "time, a "
              "fixed random permutation"),
        counted("instructions", "puts", "16", "0", "10000",
                "puts that are counted instruction by instruction; 0: none"),
        counted("samples", "samples", "200", "1", "100000000",
                "steady samples at most, of whole bursts and as many of split ones"),
        {"time_limit_s",
         seconds,
         "s",
         "0.1",
         "0",
         "86400",
         {},
         false,
         "whole bursts, and split ones, each end after about this time even with fewer samples (at least 8 "
         "are "
         "taken)"},
        {"warmup_s",
         seconds,
         "s",
         "0.01",
         "0",
         "86400",
         {},
         false,
         "warm-up ends after about this time (at least 4 bursts)"},
        {"validate",
         flag,
         "",
         "on",
         "",
         "",
         {},
         false,
         "compare all of the memory byte for byte after the timed bursts and after one more with new bytes, "
         "outside the timed region"},
    };
}

constexpr std::array metric_table{
    Metric{"time_per_put_s", "s", "burst", "puts and their synchronisation: sample / (batch puts)"},
    Metric{"put_call_s", "s", "burst", "the puts alone: sample of part 1 / puts"},
    Metric{"synchronisation_s", "s", "burst", "the synchronisation of one burst alone: sample of part 2"},
    Metric{"message_rate_per_s", "1/s", "burst", "1 / time_per_put_s"},
    Metric{"instructions_per_put", "instructions", "burst",
           "inside the calls of one put, counted one by one"},
    Metric{"instructions_per_synchronisation", "instructions", "burst",
           "inside the calls of the synchronisation after `instructions` puts"},
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
