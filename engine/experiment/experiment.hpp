// SPDX-License-Identifier: Apache-2.0
/// What an experiment is to the rest of the engine.  Adding one: its folder, a line in registry.cpp, a test.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/json.hpp"
#include "core/parameters.hpp"
#include "record/block.hpp"

namespace slowpath {

struct Context;  // experiment/context.hpp, which needs mpi.h

/// What this rank has to say about a cell; brought to rank 0 after it.
struct CellRecord {
    std::vector<std::byte> blocks;
    std::string events;  ///< lines "NAME FIELDS", FIELDS as in an object of JSON without its braces
    std::map<std::string, double> counts{};  ///< rank 0: what its table shows and is no time
};

enum class Better { lower, higher };

const char* name(Better better);

/// A number that a cell yields; the name is that of results and of contrasts.
struct Metric {
    std::string_view name;
    std::string_view unit;
    std::string_view pattern;  ///< that yields it
    Better better = Better::lower;
    std::string_view meaning;     ///< what is timed or counted
    std::string_view definition;  ///< how it follows from what the record holds
    bool bandwidth = false;       ///< message_bytes over it is a bandwidth
    bool message_rate = false;    ///< 1 over it is a message rate
};

enum class Status { ok, skipped, failed };

const char* name(Status status);

/// How a cell ended; the same status on every rank.
struct Outcome {
    Status status = Status::ok;
    std::optional<std::string> reason;
    std::uint32_t batch = 1;
    std::int64_t steady_samples = 0;  ///< on the first rank that stores
    std::optional<std::string> stopped_because;
    std::int64_t validated_bytes = 0;  ///< compared, over all ranks
    std::int64_t wrong_bytes = 0;
};

/// A cell's numbers on rank 0, for the table on stdout.
struct CellNumbers {
    std::vector<Block> blocks;
    bool one_node;  ///< all ranks share one clock
    int size;
    std::map<std::string, double> counts{};  ///< by metric
};

struct TableRow {
    std::vector<std::string_view> columns;  ///< titles, the first one for the message size
    std::int64_t size_bytes;
    std::vector<std::optional<double>> numbers;
};

/// A cell of a group that runs together.
struct GroupMember {
    std::uint32_t cell;
    const Assignment* assignment;
    CellRecord record{};
    Outcome outcome{};
};

/// Which bytes a cell sends from where to where: what the same costs without MPI is measured for it.
struct Route {
    int from = 0, to = 0;  ///< ranks
    std::int64_t bytes = 0;
    bool from_gpu = false, to_gpu = false;
    std::optional<int> from_device{}, to_device{};  ///< ordinals; nullopt: the devices of a node in turn

    auto operator<=>(const Route&) const = default;
};

struct Experiment {
    std::string_view name;
    std::string_view summary;
    int min_ranks;
    std::span<const Parameter> (
        *parameters)();  ///< a function, since tables of other files may not be there yet
    std::span<const Metric> (*metrics)();
    std::string_view swept;  ///< the parameter that has its own column in tables
    /// What single values can't show.  @throws UsageError naming the numbers.
    void (*validate)(const Assignment&);
    /// What keeps a valid cell from running in a job of `ranks` ranks (nullopt: of any number), as far as
    /// its parameters tell: a run skips the cell with this reason, `check` refuses it.
    std::optional<std::string> (*obstacle)(const Assignment&, std::optional<int> ranks);
    /// Whether a valid cell yields this metric, one of its pattern's.
    bool (*yields)(const Assignment&, std::string_view metric);
    /// What follows from a valid cell's parameters and is of use before it runs
    /// (docs/reference/engine-interface.md).
    void (*derive)(const Assignment&, std::optional<int> ranks, JsonObject& to);
    /// Collective over all ranks.
    Outcome (*run)(Context&, const Assignment&);
    TableRow (*tabulate)(const Assignment&, const CellNumbers&);
    /// A parameter: cells that differ in nothing else are measured in turns within each repetition, whatever
    /// their order in the plan, by run_together instead of run.  "": each cell runs by itself.
    std::string_view interleaved_by = "";
    /// Collective over all ranks; fills in records and outcomes.
    void (*run_together)(Context&, std::span<GroupMember>) = nullptr;
    /// The messages of a valid cell that has ranks enough; nullopt: they are of no one length, or in memory
    /// that moves.  nullptr: the experiment sends no messages one by one.
    std::optional<Route> (*route)(const Assignment&, int size) = nullptr;
};

}  // namespace slowpath
