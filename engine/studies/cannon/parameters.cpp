// SPDX-License-Identifier: Apache-2.0
#include "cannon/parameters.hpp"

#include <cstdlib>

#include "core/error.hpp"

namespace slowpath::cannon {
namespace {

using enum ParameterType;
using enum ParameterRole;

std::vector<std::string_view> variant_names() {
    std::vector<std::string_view> names;
    for (const VariantKind& kind : variants()) names.push_back(kind.name);
    return names;
}

std::vector<std::string_view> kernel_names() {
    std::vector<std::string_view> names;
    for (const Kernel& kernel : kernels()) names.push_back(kernel.name);
    return names;
}

std::vector<Parameter> table() {
    return {
        {
            .name = "pattern",
            .type = choice,
            .role = setting,
            .default_value = "multiply",
            .choices = {"multiply"},
            .meaning = "C = A B, once a repetition",
        },
        {
            .name = "variant",
            .type = choice,
            .role = setting,
            .default_value = "sendrecv_replace",
            .choices = variant_names(),
            .meaning = "communication style; all variants of equal other parameters run in turn within each "
                       "repetition",
        },
        {
            .name = "n",
            .type = count,
            .role = covariate,
            .default_value = "512",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "order of the matrices; a multiple of the number of steps",
        },
        {
            .name = "grid",
            .type = choice,
            .role = setting,
            .default_value = "auto",
            .choices = {"auto", "ring"},
            .meaning = "auto: as square as the ranks allow; ring: 1 x P, where only strips of A move",
        },
        {
            .name = "skew",
            .type = choice,
            .role = setting,
            .default_value = "in_place",
            .choices = {"in_place", "moved"},
            .meaning = "initial alignment of variants that shift: inputs made where step 0 needs them, or "
                       "moved, in the timed region",
        },
        {
            .name = "window",
            .type = choice,
            .role = setting,
            .default_value = "allocate",
            .choices = {"allocate", "create"},
            .meaning = "memory of windows: MPI_Win_allocate, or MPI_Win_create on memory of our own",
        },
        {
            .name = "numbers",
            .type = choice,
            .role = setting,
            .default_value = "real",
            .choices = {"real", "integer"},
            .meaning = "integer: all sums are exact, so that all variants must agree bit for bit",
        },
        {
            .name = "kernel",
            .type = choice,
            .role = setting,
            .default_value = "blas",
            .choices = kernel_names(),
            .meaning =
                "what multiplies a rank's blocks: the BLAS, or a plain loop compiled with -O0, -O2, -O3 "
                "or -O3 -march=native",
        },
        {
            .name = "source",
            .type = choice,
            .role = setting,
            .default_value = "in_place",
            .choices = {"in_place", "root", "file"},
            .meaning = "inputs: made in place from a hash, scattered by rank 0 (which gathers C), or read "
                       "from a file of tiles by MPI-IO; root and file are in the timed region",
        },
        {
            .name = "repetitions",
            .type = count,
            .role = effort,
            .unit = "repetitions",
            .default_value = "20",
            .minimum = "1",
            .maximum = "100000",
            .meaning = "of each variant",
        },
        {
            .name = "warmups",
            .type = count,
            .role = effort,
            .unit = "repetitions",
            .default_value = "1",
            .minimum = "1",
            .maximum = "1000",
            .meaning = "before them; the first one is validated",
        },
        {
            .name = "piece",
            .type = count,
            .role = covariate,
            .default_value = "384",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "columns of k between two tests; OpenBLAS packs blocks of 384, so other values cost "
                       "dgemm time; a step of no more columns is cut in two",
        },
        {
            .name = "quiet_wait_s",
            .type = seconds,
            .role = effort,
            .unit = "s",
            .default_value = "0.02",
            .minimum = "0",
            .maximum = "3600",
            .meaning = "before each repetition wait at most so long until nothing else runs on rank 0's node",
        },
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "Freivalds' check of the first and the last repetition, unchanged inputs; outside the "
                       "timed region",
        },
    };
}

constexpr std::array metric_table{
    Metric{
        .name = "multiply_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "one multiplication: from the first rank's start to the last rank's end",
        .definition = "part total, latest end - earliest start; on several nodes the longest of the ranks",
    },
    Metric{
        .name = "dgemm_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "the local multiplications of a rank, mean over ranks",
        .definition = "part dgemm, sum of a repetition",
    },
    Metric{
        .name = "issue_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "starting communication that something else completes, mean over ranks",
        .definition = "part issue, sum of a repetition",
    },
    Metric{
        .name = "test_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning =
            "asking whether communication is over, between pieces of the multiplication, mean over ranks",
        .definition = "part test, sum of a repetition",
    },
    Metric{
        .name = "wait_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "blocked until communication is over, mean over ranks",
        .definition = "part wait, sum of a repetition",
    },
    Metric{
        .name = "copy_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "copying between shared memory and a rank's own, mean over ranks",
        .definition = "part copy, sum of a repetition",
    },
    Metric{
        .name = "synchronise_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "fences, epochs, barriers and flags, mean over ranks",
        .definition = "part synchronise, sum of a repetition",
    },
    Metric{
        .name = "skew_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "moving the initial alignment, mean over ranks",
        .definition = "part skew, sum of a repetition",
    },
    Metric{
        .name = "distribute_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "inputs out of rank 0 or a file, mean over ranks",
        .definition = "part distribute, sum of a repetition",
    },
    Metric{
        .name = "gather_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "the product to rank 0 or into a file, mean over ranks",
        .definition = "part gather, sum of a repetition",
    },
    Metric{
        .name = "generate_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "making the inputs in place, outside the multiplication, mean over ranks",
        .definition = "part generate, sum of a repetition",
    },
    Metric{
        .name = "exposed_s",
        .unit = "s",
        .pattern = "multiply",
        .meaning = "what communication adds to the time of the computation around it",
        .definition = "part total - part dgemm, mean over ranks",
    },
    Metric{
        .name = "exposed_ratio",
        .unit = "1",
        .pattern = "multiply",
        .meaning = "the part of all ranks' time that is no local multiplication",
        .definition = "1 - sum of dgemm / sum of total, over ranks",
    },
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
    for (const Kernel& kernel : kernels())
        if (kernel.name == assignment.text("kernel")) config.kernel = &kernel;
    config.n = assignment.integer("n");
    config.ring = assignment.text("grid") == "ring";
    config.move_skew = assignment.text("skew") == "moved";
    config.window = assignment.text("window") == "create" ? WindowMemory::create : WindowMemory::allocate;
    config.numbers = assignment.text("numbers") == "real" ? Numbers::real : Numbers::integer;
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
        throw UsageError("numbers=integer is exact up to n=65536, not n=" + std::to_string(config.n) +
                         "; take numbers=real");
    if (config.move_skew && config.source != Source::in_place)
        throw UsageError(
            "skew=moved goes with source=in_place: rank 0 and files give each rank what it needs first");
    return config;
}

}  // namespace slowpath::cannon
