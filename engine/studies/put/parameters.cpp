// SPDX-License-Identifier: Apache-2.0
#include "put/parameters.hpp"

#include <array>
#include <climits>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace slowpath::put {

Config configure(const Assignment& assignment) {
    Config config{};
    config.design = assignment.text("design");
    config.call = assignment.chosen<layers::Call>("call");
    config.checks = assignment.flag("checks");
    config.operation = assignment.chosen<Operation>("operation");
    config.window = assignment.chosen<WindowKind>("window");
    config.synchronisation = assignment.chosen<Synchronisation>("synchronise");
    config.datatype = assignment.chosen<DatatypeKind>("datatype");
    config.target_datatype = assignment.chosen<TargetDatatype>("target_datatype");
    config.message_bytes = assignment.integer("message_bytes");
    config.puts = assignment.integer("puts");
    config.window_info = assignment.text("window_info");
    config.order = assignment.chosen<layers::Order>("order");
    config.instructions = assignment.integer("instructions");
    config.samples = assignment.integer("samples");
    config.time_limit_s = assignment.seconds("time_limit_s");
    config.warmup_s = assignment.seconds("warmup_s");
    config.validate = assignment.flag("validate");
    config.target_busy_s = assignment.seconds("target_busy_s");
    refuse_what_cannot_be(config, assignment);
    return config;
}

namespace {

using Broken = bool (*)(const Config&);

struct Rule {
    Broken broken;
    std::string_view because;
};

bool atomic(const Config& config) {
    return config.operation == Operation::fetch_and_op || config.operation == Operation::compare_and_swap;
}

bool forbids_locks(const Config& config) {
    return find_window_info(config.window_info).key == "no_locks";
}

/// Of every design.
constexpr std::array common_rules{
    Rule{[](const Config& c) {
             return c.target_datatype != TargetDatatype::same && c.datatype != DatatypeKind::vector &&
                    c.datatype != DatatypeKind::indexed;
         },
         "target_datatype needs a datatype of 2 floats at the origin, too (MPI-4.1 section 12.3: both sides "
         "have the same signature); take datatype=vector or indexed"},
    Rule{[](const Config& c) { return c.two_datatypes() && c.operation != Operation::put; },
         "target_datatype is for operation=put; leave it out"},
    Rule{[](const Config& c) { return c.target_busy_s > 0 && c.active_target(); },
         "target_busy_s is for a passive target: with synchronise=fence and pscw the target takes part in "
         "each burst; take synchronise=flush_all, flush_local or lock"},
};

/// Of the real library.
constexpr std::array mpi_rules{
    Rule{[](const Config& c) { return c.call != layers::Call::library || !c.checks; },
         "call and checks are for the layers; design=mpi is the library as it is, leave them out"},
    Rule{[](const Config& c) { return c.operation == Operation::rput && c.active_target(); },
         "operation=rput needs a passive target (MPI-4.1 section 12.3.5); take synchronise=flush_all, "
         "flush_local or lock"},
    Rule{[](const Config& c) {
             return c.operation == Operation::accumulate && c.datatype == DatatypeKind::contiguous;
         },
         "datatype=contiguous is a struct of int and float, and MPI_Accumulate takes one basic type only "
         "(MPI-4.1 section 12.3.4); take another datatype"},
    Rule{[](const Config& c) { return atomic(c) && c.datatype != DatatypeKind::predefined; },
         "operation=fetch_and_op and compare_and_swap take predefined datatypes only (MPI-4.1 sections "
         "12.3.4.3 and 12.3.4.4); take datatype=predefined"},
    Rule{[](const Config& c) { return atomic(c) && c.message_bytes != 8; },
         "operation=fetch_and_op and compare_and_swap move one element; take message_bytes=8"},
    Rule{[](const Config& c) { return forbids_locks(c) && !c.active_target(); },
         "window_info=no_locks promises that no lock is taken; take synchronise=fence or pscw"},
};

/// Of layers, limits and OpenSHMEM.
constexpr std::array other_rules{
    Rule{[](const Config& c) { return c.operation != Operation::put; },
         "only design=mpi has other operations than put"},
    Rule{[](const Config& c) { return c.window == WindowKind::create || c.window == WindowKind::dynamic; },
         "only design=mpi has kinds of windows; the others use memory that both ranks reach, leave window "
         "out"},
    Rule{[](const Config& c) { return c.synchronisation != Synchronisation::flush_all; },
         "only design=mpi has ways to synchronise; leave synchronise out"},
    Rule{[](const Config& c) { return c.window_info != "default"; },
         "only design=mpi has info keys; leave window_info out"},
    Rule{[](const Config& c) { return c.datatype == DatatypeKind::large_count; },
         "datatype=large_count is MPI_Put_c, which only design=mpi has"},
};

/// Longest message of the functions with int counts, in elements of 8 bytes.
constexpr std::int64_t most_with_int_bytes = std::int64_t{INT_MAX} * 8;

}  // namespace

void refuse_what_cannot_be(const Config& config, const Assignment&) {
    if (config.message_bytes % 8 != 0)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) +
                         " is no multiple of 8, the payload of one element of every datatype here");
    if (config.message_bytes > most_with_int_bytes && config.datatype != DatatypeKind::large_count)
        throw UsageError("message_bytes " + std::to_string(config.message_bytes) +
                         " needs a count over INT_MAX; take datatype=large_count");
    const auto judge = [](const Config& cell, std::span<const Rule> rules) {
        for (const Rule& rule : rules)
            if (rule.broken(cell)) throw UsageError(std::string(rule.because));
    };
    judge(config, common_rules);
    if (config.uses_mpi())
        judge(config, mpi_rules);
    else
        judge(config, other_rules);
    if (config.uses_layers()) {
        const layers::Design& design = find_layer_design(config);
        if (!design.takes_datatypes && config.datatype != DatatypeKind::predefined)
            throw UsageError("design=" + config.design +
                             " moves bytes and knows no datatypes; take datatype=predefined");
    } else if (config.uses_openshmem() && config.datatype != DatatypeKind::predefined) {
        throw UsageError("design=" + config.design + " moves doubles only; take datatype=predefined");
    }
}

namespace {

const char* word(layers::Call call) {
    return call == layers::Call::library ? "library" : "inlined";
}

std::string spelt(const layers::Design& design) {
    return "call=" + std::string(word(design.call)) + " checks=" + (design.checked ? "on" : "off");
}

bool fits(const layers::Design& design, const Config& config) {
    return design.call == config.call && design.checked == config.checks;
}

}  // namespace

const layers::Design& find_layer_design(const Config& config) {
    std::vector<const layers::Design*> named;
    for (const layers::Design& design : layers::designs())
        if (design.name == config.design) named.push_back(&design);
    for (const layers::Design* const design : named)
        if (fits(*design, config)) return *design;
    const bool defaults = config.call == layers::Call::library && config.checks;
    if (named.size() == 1 && defaults) return *named.front();
    std::string there;
    for (const layers::Design* const design : named) there += (there.empty() ? "" : ", ") + spelt(*design);
    throw UsageError("design=" + config.design + " has no call=" + word(config.call) +
                     " checks=" + (config.checks ? "on" : "off") +
                     (there.empty() ? "; this engine was built without it" : "; it has: " + there));
}

bool stores_one_value(const Config& config) {
    return config.design == "store" || config.design == "unrolled_stores" || config.design == "fenced_store";
}

bool moves_data(const Config& config) {
    return !config.design.starts_with("empty_call");
}

namespace {

// Standard keys: MPI-4.1 sections 12.2.1 and 12.2.2.  The others are named in the libraries' sources:
// MPICH 5.0 src/mpid/ch4/src/mpidig_win.c, Open MPI 5.0 ompi/mca/osc/sm and ompi/mca/osc/rdma.
constexpr std::array table{
    WindowInfo{"default", "", ""},
    WindowInfo{"latency", "perf_preference", "lat"},
    WindowInfo{"message_rate", "perf_preference", "mr"},
    WindowInfo{"no_locks", "no_locks", "true"},
    WindowInfo{"same_size", "same_size", "true"},
    WindowInfo{"same_disp_unit", "same_disp_unit", "true"},
    WindowInfo{"accumulate_none", "accumulate_ordering", "none"},
    WindowInfo{"accumulate_same_op", "accumulate_ops", "same_op"},
    WindowInfo{"noncontiguous", "alloc_shared_noncontig", "true"},
    WindowInfo{"aligned", "mpi_minimum_memory_alignment", "4096"},
    WindowInfo{"no_shared_memory", "alloc_shm", "false"},
    WindowInfo{"no_shared_accumulate", "disable_shm_accumulate", "true"},
    WindowInfo{"single_intrinsic", "acc_single_intrinsic", "true"},
    WindowInfo{"blocking_fence", "blocking_fence", "true"},
};

}  // namespace

const WindowInfo& find_window_info(std::string_view name) {
    for (const WindowInfo& info : table)
        if (info.name == name) return info;
    throw std::logic_error("no window info " + std::string(name));
}

std::int64_t bytes_of(Basic basic) {
    return basic == Basic::int32 || basic == Basic::float32 ? 4 : 8;
}

std::int64_t Shape::end_bytes() const {
    return fields.back().offset_bytes + bytes_of(fields.back().basic);
}

namespace {

Shape shape_of_kind(const Config& config, DatatypeKind kind) {
    // MPI_Compare_and_swap takes no floating point (MPI-4.1 section 12.3.4.4).
    const Basic word = config.operation == Operation::compare_and_swap ? Basic::int64 : Basic::float64;
    switch (kind) {
        case DatatypeKind::predefined:
        case DatatypeKind::large_count:
            return {kind, {{0, word}}, 8};
        case DatatypeKind::contiguous:
            return {kind, {{0, Basic::int32}, {4, Basic::float32}}, 8};
        case DatatypeKind::vector:
            return {kind, {{0, Basic::float32}, {8, Basic::float32}}, 12};
        case DatatypeKind::indexed:
            // A gap of 4 bytes before the first block and one of 8 bytes between the two; the lower bound
            // is 4.
            return {kind, {{4, Basic::float32}, {16, Basic::float32}}, 16};
    }
    throw std::logic_error("unknown datatype");
}

}  // namespace

Shape shape_of(const Config& config) {
    return shape_of_kind(config, config.datatype);
}

Shape target_shape_of(const Config& config) {
    return shape_of_kind(config, config.target_kind());
}

}  // namespace slowpath::put
