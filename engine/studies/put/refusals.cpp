// SPDX-License-Identifier: Apache-2.0
#include "put/refusals.hpp"

#include <array>
#include <climits>

#include "core/error.hpp"
#include "put/designs.hpp"
#include "put/info.hpp"

namespace slowpath::put {
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

}  // namespace slowpath::put
