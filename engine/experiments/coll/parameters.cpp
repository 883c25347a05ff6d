// SPDX-License-Identifier: Apache-2.0
#include "coll/parameters.hpp"

#include <algorithm>
#include <array>
#include <climits>

#include "core/error.hpp"

namespace slowpath::coll {
namespace {

using enum Collective;

/// In the order of the enumeration (MPI-4.1 chapters 6 and 8).
constexpr std::array table{
    Traits{.collective = barrier, .name = "barrier"},
    Traits{.collective = bcast, .name = "bcast", .rooted = true},
    Traits{.collective = gather, .name = "gather", .rooted = true, .takes_in_place = true},
    Traits{.collective = gatherv, .name = "gatherv", .rooted = true, .takes_in_place = true},
    Traits{.collective = scatter, .name = "scatter", .rooted = true, .takes_in_place = true},
    Traits{.collective = scatterv, .name = "scatterv", .rooted = true, .takes_in_place = true},
    Traits{.collective = allgather, .name = "allgather", .takes_in_place = true},
    Traits{.collective = allgatherv, .name = "allgatherv", .takes_in_place = true},
    Traits{.collective = alltoall, .name = "alltoall", .takes_in_place = true},
    Traits{.collective = alltoallv, .name = "alltoallv", .takes_in_place = true},
    Traits{.collective = alltoallw, .name = "alltoallw", .takes_in_place = true},
    Traits{.collective = reduce, .name = "reduce", .reduces = true, .rooted = true, .takes_in_place = true},
    Traits{.collective = allreduce, .name = "allreduce", .reduces = true, .takes_in_place = true},
    Traits{.collective = reduce_scatter, .name = "reduce_scatter", .reduces = true, .takes_in_place = true},
    Traits{.collective = reduce_scatter_block,
           .name = "reduce_scatter_block",
           .reduces = true,
           .takes_in_place = true},
    Traits{.collective = scan, .name = "scan", .reduces = true, .takes_in_place = true},
    Traits{.collective = exscan, .name = "exscan", .reduces = true, .takes_in_place = true},
    Traits{.collective = neighbor_allgather, .name = "neighbor_allgather", .between_neighbours = true},
    Traits{.collective = neighbor_allgatherv, .name = "neighbor_allgatherv", .between_neighbours = true},
    Traits{.collective = neighbor_alltoall, .name = "neighbor_alltoall", .between_neighbours = true},
    Traits{.collective = neighbor_alltoallv, .name = "neighbor_alltoallv", .between_neighbours = true},
    Traits{.collective = neighbor_alltoallw, .name = "neighbor_alltoallw", .between_neighbours = true},
};

constexpr bool in_order() {
    for (std::size_t i = 0; i < table.size(); ++i)
        if (static_cast<std::size_t>(table[i].collective) != i) return false;
    return true;
}
static_assert(in_order());

template <class Enumeration>
std::string word_of(std::string_view parameter, Enumeration value) {
    return std::string(find_parameter(parameters(), parameter).choices[static_cast<std::size_t>(value)]);
}

[[noreturn]] void refuse(const std::string& what) {
    throw UsageError(what);
}

void check_length(const Config& config) {
    const std::int64_t each = config.element_bytes();
    if (config.message_bytes % each != 0)
        refuse("message_bytes " + std::to_string(config.message_bytes) + " is no multiple of " +
               std::to_string(each) + " B, the length of datatype=" + word_of("datatype", config.element));
    if (config.count() > INT_MAX)
        refuse("message_bytes " + std::to_string(config.message_bytes) + " are over " +
               std::to_string(INT_MAX) + " elements, the most that one call counts");
}

void check_kind(const Config& config, const Traits& kind) {
    const std::string name(kind.name);
    if (config.in_place && !kind.takes_in_place) refuse(name + " takes no MPI_IN_PLACE: in_place=off");
    if (config.op != Op::sum && !kind.reduces) refuse(name + " has no op: op=sum, the default");
    if (config.one_type && kind.reduces && config.op == Op::sum)
        refuse("MPI_SUM takes no derived type: shape=one_type in " + name + " needs op=user");
    if (config.one_type && config.collective == Collective::barrier)
        refuse("a barrier has no elements: shape=elements");
    const bool by_neighbours =
        config.collective == Collective::alltoallv || config.collective == Collective::alltoallw;
    if (config.to_neighbours && !by_neighbours && !kind.between_neighbours)
        refuse(name + " has no empty blocks: destinations=all, the default");
    if (config.to_neighbours && (!config.by_library() || config.in_place))
        refuse("destinations=neighbours is for way=library and in_place=off");
    if (config.root_is_last && !kind.rooted) refuse(name + " has no root: root=first, the default");
}

void check_way(const Config& config, const Traits& kind) {
    if (config.by_library()) return;
    if (mockups::find(config.collective, config.way) == nullptr)
        refuse("way=" + config.way + " is no way of " + std::string(kind.name));
    if (config.start != Start::blocking)
        refuse("way=" + config.way + " blocks: start=blocking, or way=library");
}

void check_arrival(const Config& config) {
    if (config.arrival != Arrival::together && config.pattern != Pattern::calls)
        refuse("arrival=" + word_of("arrival", config.arrival) +
               " needs pattern=calls, whose warm-up says what the call takes together");
}

void check_overlap(const Config& config) {
    if (config.pattern == Pattern::overlap && config.start == Start::blocking)
        refuse("pattern=overlap computes while the call is under way: start=nonblocking or persistent");
}

}  // namespace

std::span<const Traits> collectives() {
    return table;
}

const Traits& traits(Collective collective) {
    return table[static_cast<std::size_t>(collective)];
}

std::int64_t Config::element_bytes() const {
    switch (element) {
        case Element::byte:
            return 1;
        case Element::integer:
            return sizeof(int);
        case Element::real:
            return sizeof(double);
    }
    return 1;
}

Config configure(const Assignment& assignment) {
    const auto word = [&](std::string_view name) { return assignment.text(name); };
    const auto collective = std::find_if(collectives().begin(), collectives().end(), [&](const Traits& one) {
        return one.name == assignment.text("collective");
    });
    const Config config{
        .pattern = assignment.chosen<Pattern>("pattern"),
        .collective = collective->collective,
        .way = word("way"),
        .start = assignment.chosen<Start>("start"),
        .message_bytes = assignment.integer("message_bytes"),
        .element = assignment.chosen<Element>("datatype"),
        .one_type = word("shape") == "one_type",
        .op = assignment.chosen<Op>("op"),
        .in_place = assignment.flag("in_place"),
        .to_neighbours = word("destinations") == "neighbours",
        .group = assignment.chosen<Group>("communicator"),
        .members = word("members") == "all" ? std::nullopt
                                            : std::optional(static_cast<int>(assignment.integer("members"))),
        .duplicates = assignment.integer("duplicates"),
        .root_is_last = word("root") == "last",
        .arrival = assignment.chosen<Arrival>("arrival"),
        .arrival_ratio = assignment.seconds("arrival_ratio"),
        .calls = assignment.integer("calls"),
        .samples = assignment.integer("samples"),
        .time_limit_s = assignment.seconds("time_limit_s"),
        .warmup_s = assignment.seconds("warmup_s"),
        .validate = assignment.flag("validate"),
    };
    check_length(config);
    check_kind(config, *collective);
    check_way(config, *collective);
    check_arrival(config);
    check_overlap(config);
    return config;
}

std::optional<std::string> obstacle(const Config& config, int ranks) {
    const auto job = ", the job has " + std::to_string(ranks);
    if (config.members && *config.members > ranks)
        return "members=" + std::to_string(*config.members) + " needs " + std::to_string(*config.members) +
               " ranks" + job;
    const int calling = config.members.value_or(ranks);
    if ((config.group == Group::halves || config.group == Group::strided) && calling < 4)
        return "communicator=" + word_of("communicator", config.group) +
               " needs 4 ranks that call, there are " + std::to_string(calling);
    return std::nullopt;
}

}  // namespace slowpath::coll
