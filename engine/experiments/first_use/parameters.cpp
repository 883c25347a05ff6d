// SPDX-License-Identifier: Apache-2.0
#include "first_use/parameters.hpp"

#include <climits>

#include "core/error.hpp"

namespace slowpath::first_use {
namespace {

using enum ParameterType;
using enum ParameterRole;

Parameter word(std::string_view name, std::string_view default_value, std::vector<std::string_view> words,
               std::string_view meaning) {
    return {
        .name = name,
        .type = choice,
        .role = setting,
        .default_value = default_value,
        .choices = std::move(words),
        .meaning = meaning,
    };
}

Parameter length(std::string_view name, std::string_view default_value, std::string_view minimum,
                 std::string_view maximum, std::string_view meaning) {
    return {
        .name = name,
        .type = bytes,
        .role = covariate,
        .unit = "B",
        .default_value = default_value,
        .minimum = minimum,
        .maximum = maximum,
        .meaning = meaning,
    };
}

std::vector<Parameter> table() {
    return {
        word("pattern", "init",
             {"init", "peer", "communicator", "collective", "window", "shared_window", "persistent",
              "partitioned", "spawn"},
             "what is used for the first time"),
        word("order", "ascending", {"ascending", "xor"},
             "pattern=peer: rank r meets ranks 0, 1, 2, ..., or r xor 1, r xor 2, ...; the launch's "
             "environment has to "
             "set SLOWPATH_FIRST_PEERS to it, so that nothing else is sent before"),
        word("collective", "allreduce",
             {"barrier", "bcast", "gather", "scatter", "allgather", "alltoall", "reduce", "allreduce",
              "reduce_scatter_block", "scan", "exscan"},
             "pattern=collective: which one"),
        word("communicator", "duplicate", {"world", "duplicate"},
             "pattern=collective: MPI_COMM_WORLD, or a fresh duplicate of it"),
        word("made_by", "duplicate", {"duplicate", "split", "create", "intercommunicator", "merge"},
             "pattern=communicator: MPI_Comm_dup, MPI_Comm_split (all ranks, one colour), MPI_Comm_create "
             "(of the group of all ranks), MPI_Intercomm_create (between the lower and the upper half of "
             "the ranks) or MPI_Intercomm_merge of the two halves"),
        word("window", "allocate", {"allocate", "create"},
             "pattern=window: MPI_Win_allocate, or MPI_Win_create on fresh memory"),
        word("memory", "library", {"library", "program"},
             "pattern=window and shared_window: whose call provides the memory. program: mmap of the same "
             "length without MPI (shared memory; private with window=create), touched in the same way: what "
             "the "
             "pages cost whoever asks for them"),
        word("window_info", "none", {"none", "symheap_required"},
             "pattern=window and shared_window: an info key that is set to true; symheap_required, of MPICH, "
             "wants the "
             "window at the same address on all ranks. A key that a library does not know changes nothing"),
        word("persistent", "send", {"send", "allreduce"},
             "pattern=persistent: MPI_Send_init and MPI_Recv_init around a ring, or MPI_Allreduce_init (MPI "
             "4.0)"),
        length(
            "message_bytes", "8", "8", "1073741824",
            "pattern=collective: of one block, as osu_* call it; persistent, partitioned: of one message; in "
            "multiples of 8"),
        length("window_bytes", "1MiB", "4096", "17179869184",
               "pattern=window and shared_window: each rank's part of the window"),
        {
            .name = "processes",
            .type = count,
            .role = covariate,
            .unit = "processes",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1024",
            .meaning =
                "pattern=spawn: how many processes one MPI_Comm_spawn of all ranks together starts; they "
                "start MPI, disconnect and end",
        },
        {
            .name = "uses",
            .type = count,
            .role = effort,
            .unit = "uses",
            .default_value = "12",
            .minimum = "1",
            .maximum = "4096",
            .meaning = "the first use and later ones; pattern=communicator: communicators, all kept until "
                       "the cell ends",
        },
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "compare what arrived, outside of the timed region, and what a window's memory holds",
        },
    };
}

Metric time(std::string_view name, std::string_view pattern, std::string_view meaning,
            std::string_view definition) {
    return {.name = name, .unit = "s", .pattern = pattern, .meaning = meaning, .definition = definition};
}

constexpr std::string_view together =
    "last end - last begin of all ranks; over several nodes: the longest of a rank";
constexpr std::string_view slowest = "the longest of all ranks";

std::vector<Metric> metric_list() {
    return {
        time("start_s", "init",
             "from the process's libraries being mapped to the end of the first communicators", slowest),
        time("library_load_s", "init",
             "processor time until the libraries are mapped and relocated; its elapsed time is known to 10 "
             "ms alone",
             slowest),
        time("constructors_s", "init", "constructors of the libraries, until MPI_Init is called", slowest),
        time("init_s", "init", "MPI_Init, or MPI_Init_thread", slowest),
        time("first_duplicate_s", "init", "the first MPI_Comm_dup, which sends the first messages", together),
        time("first_split_s", "init", "the first MPI_Comm_split_type", together),
        time("peer_s", "peer",
             "one exchange of 8 B with one peer: the first one; later: with the 2nd, 3rd, ... peer",
             "the shorter of the pair's two times, of the slowest pair of ranks at the same place of their "
             "orders"),
        time("peers_s", "peer", "exchanges with all peers one after the other; later: the same again",
             "last end - last begin of all ranks; over several nodes: the longest of a rank"),
        time("communicator_s", "communicator",
             "the first communicator made by this call; later: the 2nd, 3rd, ...", together),
        time("collective_first_s", "collective",
             "the first call on the communicator; later: the 2nd, 3rd, ...", together),
        time("window_s", "window", "the call that makes the window (memory=program: mmap)", together),
        time("window_touch_s", "window", "the program's first write to every page, after it", slowest),
        time("window_use_s", "window", "making the window, and the program's first write to every page",
             together),
        time("shared_window_s", "shared_window", "MPI_Win_allocate_shared (memory=program: mmap)", together),
        time("shared_window_touch_s", "shared_window", "the program's first write to every page, after it",
             slowest),
        time("shared_window_use_s", "shared_window",
             "making the window, and the program's first write to every page", together),
        time("persistent_init_s", "persistent", "the calls that make the requests", slowest),
        time("persistent_start_s", "persistent", "the first start and its completion", together),
        time("partitioned_init_s", "partitioned", "MPI_Psend_init and MPI_Precv_init", slowest),
        time("partitioned_start_s", "partitioned", "the first start, all partitions and completion",
             together),
        time("partitioned_again_s", "partitioned", "the second start of the same requests", together),
        time("spawn_s", "spawn", "MPI_Comm_spawn, until the processes are connected", together),
    };
}

template <class Enumeration>
Enumeration chosen(const Assignment& assignment, std::string_view parameter) {
    const std::vector<std::string_view>& words = find_parameter(parameters(), parameter).choices;
    std::size_t index = 0;
    while (words[index] != assignment.text(parameter)) ++index;
    return static_cast<Enumeration>(index);
}

}  // namespace

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> all = table();
    return all;
}

std::span<const Metric> metrics() {
    static const std::vector<Metric> all = metric_list();
    return all;
}

Config configure(const Assignment& assignment) {
    const Config config{
        .pattern = chosen<Pattern>(assignment, "pattern"),
        .order = assignment.text("order"),
        .collective = chosen<Collective>(assignment, "collective"),
        .communicator = chosen<Communicator>(assignment, "communicator"),
        .made_by = chosen<MadeBy>(assignment, "made_by"),
        .window = chosen<WindowKind>(assignment, "window"),
        .memory = chosen<Memory>(assignment, "memory"),
        .window_info = assignment.text("window_info"),
        .persistent = chosen<Persistent>(assignment, "persistent"),
        .message_bytes = assignment.integer("message_bytes"),
        .window_bytes = assignment.integer("window_bytes"),
        .processes = assignment.integer("processes"),
        .uses = assignment.integer("uses"),
        .validate = assignment.flag("validate"),
    };
    if (config.message_bytes % 8 != 0)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) + " is no multiple of 8");
    return config;
}

}  // namespace slowpath::first_use
