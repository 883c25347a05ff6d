// SPDX-License-Identifier: Apache-2.0
#include "experiments/cannon/parameters.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace slowpath::cannon {
namespace {

using enum ParameterType;

std::vector<std::string_view> variant_names() {
    std::vector<std::string_view> names;
    for (const VariantKind& kind : variants()) names.push_back(kind.name);
    return names;
}

std::vector<Parameter> table() {
    return {
        {"pattern", choice, "", "multiply", "", "", {"multiply"}, false, "C = A B, once a repetition"},
        {"variant", choice, "", "sendrecv_replace", "", "", variant_names(), false,
         "communication style; all variants of equal other parameters run in turn within each repetition"},
        {"n",
         count,
         "",
         "512",
         "1",
         "1000000",
         {},
         false,
         "order of the matrices; a multiple of the number of steps"},
        {"grid",
         choice,
         "",
         "auto",
         "",
         "",
         {"auto", "ring"},
         false,
         "auto: as square as the ranks allow; ring: 1 x P, where only strips of A move"},
        {"skew",
         choice,
         "",
         "in_place",
         "",
         "",
         {"in_place", "moved"},
         false,
         "initial alignment of variants that shift: inputs made where step 0 needs them, or moved, in the "
         "timed region"},
        {"window",
         choice,
         "",
         "allocate",
         "",
         "",
         {"allocate", "create"},
         false,
         "memory of windows: MPI_Win_allocate, or MPI_Win_create on memory of our own"},
        {"memory",
         choice,
         "",
         "host",
         "",
         "",
         {"host", "device"},
         false,
         "device: matrices in GPU memory, one rank a GPU, multiplied by cuBLAS; for compute_only, sendrecv, "
         "isend_wait, shared_copy and shared_direct"},
        {"numbers",
         choice,
         "",
         "real",
         "",
         "",
         {"real", "integer", "bfloat16"},
         false,
         "integer: all sums are exact, so that all variants must agree bit for bit; bfloat16: the same "
         "integers "
         "as bfloat16, summed as float, with memory=device"},
        {"source",
         choice,
         "",
         "in_place",
         "",
         "",
         {"in_place", "root", "file"},
         false,
         "inputs: made in place from a hash, scattered by rank 0 (which gathers C), or read from a file of "
         "tiles by "
         "MPI-IO; root and file are in the timed region"},
        {"repetitions", count, "repetitions", "20", "1", "100000", {}, false, "of each variant"},
        {"warmups",
         count,
         "repetitions",
         "1",
         "1",
         "1000",
         {},
         false,
         "before them; the first one is validated"},
        {"piece",
         count,
         "",
         "384",
         "1",
         "1000000",
         {},
         false,
         "columns of k between two tests; OpenBLAS packs blocks of 384, so other values cost dgemm time"},
        {"quiet_wait_s",
         seconds,
         "s",
         "0.02",
         "0",
         "3600",
         {},
         false,
         "before each repetition wait at most so long until nothing else runs on rank 0's node"},
        {"validate",
         flag,
         "",
         "on",
         "",
         "",
         {},
         false,
         "Freivalds' check of the first and the last repetition, unchanged inputs; outside the timed region"},
    };
}

constexpr std::array metric_table{
    Metric{"multiply_s", "s", "multiply", "from the first rank's start to the last rank's end"},
    Metric{"dgemm_s", "s", "multiply", "local multiplications of one rank, mean over ranks"},
    Metric{"exposed_s", "s", "multiply", "total minus local multiplications of one rank, mean over ranks"},
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
    Config config{};
    for (const VariantKind& kind : variants())
        if (kind.name == assignment.text("variant")) config.variant = &kind;
    config.n = assignment.integer("n");
    config.ring = assignment.text("grid") == "ring";
    config.move_skew = assignment.text("skew") == "moved";
    config.window = assignment.text("window") == "create" ? WindowMemory::create : WindowMemory::allocate;
    config.on_devices = assignment.text("memory") == "device";
    config.numbers = assignment.text("numbers") == "real" ? Numbers::real : Numbers::integer;
    config.bfloat16 = assignment.text("numbers") == "bfloat16";
    for (const Source source : {Source::in_place, Source::root, Source::file})
        if (assignment.text("source") == name(source)) config.source = source;
    const char* const folder = std::getenv("TMPDIR");
    config.folder = folder != nullptr ? folder : "/tmp";
    config.repetitions = assignment.integer("repetitions");
    config.warmups = assignment.integer("warmups");
    config.piece = assignment.integer("piece");
    config.quiet_wait_s = assignment.seconds("quiet_wait_s");
    config.validate = assignment.flag("validate");
    constexpr std::int64_t exact_up_to = 65536;
    if (config.numbers == Numbers::integer && config.n > exact_up_to)
        throw UsageError("numbers=" + std::string(assignment.text("numbers")) +
                         " is exact up to n=65536, not n=" + std::to_string(config.n) +
                         "; take numbers=real");
    if (config.bfloat16 && !config.on_devices)
        throw UsageError("numbers=bfloat16 needs memory=device; take it, or numbers=integer");
    if (config.on_devices && (config.move_skew || config.source != Source::in_place))
        throw UsageError(
            "memory=device goes with skew=in_place and source=in_place: inputs are made on the CPU and "
            "copied "
            "to where step 0 needs them");
    if (config.move_skew && config.source != Source::in_place)
        throw UsageError(
            "skew=moved goes with source=in_place: rank 0 and files give each rank what it needs first");
    return config;
}

}  // namespace slowpath::cannon
