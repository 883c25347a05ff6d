// SPDX-License-Identifier: Apache-2.0
#include "coll/parameters.hpp"

#include <algorithm>
#include <array>
#include <climits>
#include <set>
#include <vector>

#include "core/error.hpp"

namespace slowpath::coll {
namespace {

using enum ParameterType;
using enum ParameterRole;
using Words = std::vector<std::string_view>;

constexpr std::array pattern_words{"calls",   "counted",       "communicators", "messages",
                                   "overlap", "after_barrier", "back_to_back"};
constexpr std::array start_words{"blocking", "nonblocking", "persistent"};
constexpr std::array element_words{"byte", "int", "double"};
constexpr std::array op_words{"sum", "user", "user_ordered"};
constexpr std::array group_words{"world", "duplicate", "halves", "strided"};
constexpr std::array arrival_words{"together", "one_late", "linear", "random"};

template <class Enumeration, class Table>
Enumeration word_of(const Table& words, const std::string& text) {
    return static_cast<Enumeration>(std::find(words.begin(), words.end(), text) - words.begin());
}

template <class Table>
Words listed(const Table& words) {
    return Words(words.begin(), words.end());
}

Words collective_words() {
    Words words;
    for (const Traits& one : collectives()) words.push_back(one.name);
    return words;
}

Words way_words() {
    Words words{"library"};
    std::set<std::string_view> seen;
    for (const mockups::Mockup& mockup : mockups::mockups())
        if (seen.insert(mockup.name).second) words.push_back(mockup.name);
    return words;
}

Parameter one_of(std::string_view name, std::string_view default_value, Words words,
                 std::string_view meaning) {
    return {.name = name,
            .type = choice,
            .role = setting,
            .default_value = default_value,
            .choices = std::move(words),
            .meaning = meaning};
}

Parameter number(std::string_view name, ParameterRole role, std::string_view unit,
                 std::string_view default_value, std::string_view minimum, std::string_view maximum,
                 std::string_view meaning, Words words = {}) {
    return {.name = name,
            .type = count,
            .role = role,
            .unit = unit,
            .default_value = default_value,
            .minimum = minimum,
            .maximum = maximum,
            .choices = std::move(words),
            .meaning = meaning};
}

Parameter on_or_off(std::string_view name, ParameterRole role, std::string_view default_value,
                    std::string_view meaning) {
    return {.name = name, .type = flag, .role = role, .default_value = default_value, .meaning = meaning};
}

std::vector<Parameter> what_is_called() {
    return {
        one_of("pattern", "calls", listed(pattern_words),
               "calls: the first call, then later ones; counted: the first calls of a fresh communicator, in "
               "their order; communicators: fresh communicators one after the other, all kept; messages: "
               "nothing is timed, a witnessed launch logs the messages of each call, a rank late in each; "
               "overlap: a nonblocking call alone, computing alone, and computing between start and wait; "
               "after_barrier: an MPI_Barrier before each call, as OSU and IMB time one; back_to_back: each "
               "call right after the one before, as IMB does with -sync off"),
        one_of("collective", "allreduce", collective_words(), "MPI_Allreduce, MPI_Bcast, ..."),
        one_of("way", "library", way_words(), "the library's own call, or other calls that do the same"),
        one_of("start", "blocking", listed(start_words),
               "blocking call; MPI_I... and MPI_Wait; MPI_Start and MPI_Wait, without the MPI_..._init "
               "before them"),
        {.name = "message_bytes",
         .type = bytes,
         .role = covariate,
         .unit = "B",
         .default_value = "1024",
         .minimum = "0",
         .maximum = "1073741824",
         .meaning = "length of the message, of one block where each rank has a block of its own; a barrier "
                    "has none"},
        one_of("datatype", "byte", listed(element_words),
               "MPI_BYTE (MPI_UINT8_T in reductions), MPI_INT or MPI_DOUBLE"),
        one_of("shape", "elements", {"elements", "one_type"},
               "a block is n elements, or one element of a contiguous type of n"),
        one_of("op", "sum", listed(op_words),
               "of reductions: MPI_SUM; the same as a user's function; a user's function that is not "
               "commutative"),
        on_or_off("in_place", setting, "off",
                  "MPI_IN_PLACE: at the root of a rooted collective, else on each rank"),
    };
}

std::vector<Parameter> who_calls() {
    return {
        one_of(
            "destinations", "all", {"all", "neighbours"},
            "alltoallv and alltoallw: for whom a rank has a block that is not empty: for each rank, or for "
            "its two neighbours on either side in a ring, as neighbor_alltoallv has it"),
        one_of("communicator", "world", listed(group_words),
               "MPI_COMM_WORLD itself, a fresh duplicate, its two halves at once, or its even and its odd "
               "ranks at once"),
        number("members", covariate, "ranks", "all", "1", "1048576",
               "the first so many ranks call, the others sleep", {"all"}),
        number("duplicates", covariate, "communicators", "0", "0", "2000",
               "duplicates of the communicator that were made before, used, and kept"),
        one_of("root", "first", {"first", "last"}, "rank of the communicator that is the root"),
        one_of("arrival", "together", listed(arrival_words),
               "who enters when: all at once; the last rank late; rank i of n late by i / (n - 1); each rank "
               "late by chance"),
        {.name = "arrival_ratio",
         .type = seconds,
         .role = covariate,
         .unit = "",
         .default_value = "1",
         .minimum = "0",
         .maximum = "1000",
         .meaning = "how late the last rank is, in medians of the same call together"},
    };
}

std::vector<Parameter> how_carefully() {
    return {
        number("calls", covariate, "", "16", "1", "1000000",
               "calls of pattern=counted, communicators of pattern=communicators"),
        number("samples", effort, "samples", "200", "1", "100000000",
               "steady samples at most; of pattern=communicators on each communicator, 10 at most"),
        time_limit(
            "time_limit_s", "0.1",
            "steady state and the calls of pattern=counted end after about this time (8 are made, 3 where "
            "8 would take ten times as long; 24 counted calls); of pattern=communicators those on each "
            "(8), and all of them after `calls` times this and warmup_s (16)"),
        time_limit("warmup_s", "0.01", "warm-up ends after about this time (at least 8 calls)"),
        on_or_off("validate", effort, "on",
                  "compare each element of the result after the first call, after the last one and after one "
                  "more with new numbers; outside the timed region"),
    };
}

std::vector<Parameter> table() {
    std::vector<Parameter> all = what_is_called();
    for (const auto& more : {who_calls(), how_carefully()}) all.insert(all.end(), more.begin(), more.end());
    return all;
}

constexpr std::array metric_kinds{
    Metric{.name = "collective_work_s",
           .unit = "s",
           .pattern = "",
           .meaning = "T_work of one collective: from the last rank's entry to the last rank's exit",
           .definition = "latest exit of all ranks - latest entry"},
    Metric{.name = "collective_span_s",
           .unit = "s",
           .pattern = "",
           .meaning = "T_span of one collective: from the first rank's entry to the last rank's exit",
           .definition = "latest exit of all ranks - earliest entry"},
    Metric{.name = "collective_own_s",
           .unit = "s",
           .pattern = "",
           .meaning = "T_own of the slowest rank: the longest time from its entry to its exit",
           .definition = "longest of all ranks' samples"},
};

constexpr std::array overlap_metrics{
    Metric{.name = "collective_own_s",
           .unit = "s",
           .pattern = "",
           .meaning = "T_own of the slowest rank: the longest time from its entry to its exit",
           .definition = "longest of all ranks' samples"},
    Metric{.name = "compute_s",
           .unit = "s",
           .pattern = "",
           .meaning = "computing about as long, with no message under way",
           .definition = "longest of all ranks' samples of part 2"},
    Metric{.name = "overlapped_s",
           .unit = "s",
           .pattern = "",
           .meaning = "messages started, computing, messages waited for",
           .definition = "longest of all ranks' samples of part 3"},
    Metric{.name = "exposed_s",
           .unit = "s",
           .pattern = "",
           .meaning = "what communication adds to the time of the computation around it",
           .definition = "overlapped_s - compute_s"},
    Metric{.name = "exposed_communication_ratio",
           .unit = "1",
           .pattern = "",
           .meaning = "the part of the communication that computing does not hide",
           .definition = "exposed_s / collective_own_s"},
};

constexpr std::array loop_metrics{
    Metric{.name = "collective_loop_mean_s",
           .unit = "s",
           .pattern = "",
           .meaning = "one of calls in a loop, mean over ranks, as OSU prints it and IMB as t_avg",
           .definition = "mean of ten calls, mean over ranks"},
    Metric{.name = "collective_loop_slowest_s",
           .unit = "s",
           .pattern = "",
           .meaning = "one of calls in a loop on the slowest rank, as IMB prints it as t_max",
           .definition = "mean of ten calls, of the rank where it is longest"},
};

template <class Kinds>
void add(std::vector<Metric>& all, const Kinds& kinds, std::string_view pattern) {
    for (Metric metric : kinds) {
        metric.pattern = pattern;
        all.push_back(metric);
    }
}

std::vector<Metric> metric_table() {
    std::vector<Metric> all;
    for (const std::string_view pattern : {"calls", "counted", "communicators"})
        add(all, metric_kinds, pattern);
    add(all, overlap_metrics, "overlap");
    for (const std::string_view pattern : {"after_barrier", "back_to_back"}) add(all, loop_metrics, pattern);
    return all;
}

[[noreturn]] void refuse(const std::string& what) {
    throw UsageError(what);
}

void check_length(const Config& config) {
    const std::int64_t each = config.element_bytes();
    if (config.message_bytes % each != 0)
        refuse("message_bytes " + std::to_string(config.message_bytes) + " is no multiple of " +
               std::to_string(each) +
               " B, the length of datatype=" + element_words[static_cast<std::size_t>(config.element)]);
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
        refuse("arrival=" + std::string(arrival_words[static_cast<std::size_t>(config.arrival)]) +
               " needs pattern=calls, whose warm-up says what the call takes together");
}

void check_overlap(const Config& config) {
    if (config.pattern == Pattern::overlap && config.start == Start::blocking)
        refuse("pattern=overlap computes while the call is under way: start=nonblocking or persistent");
}

void check_messages(const Config& config) {
    if (config.pattern != Pattern::messages) return;
    if (config.group == Group::halves || config.group == Group::strided)
        refuse("pattern=messages looks at one communicator: communicator=world or duplicate");
    if (config.members == 1) refuse("pattern=messages needs 2 ranks that call: members=2 or more");
}

}  // namespace

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

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> all = table();
    return all;
}

std::span<const Metric> metrics() {
    static const std::vector<Metric> all = metric_table();
    return all;
}

Config configure(const Assignment& assignment) {
    const auto word = [&](std::string_view name) { return assignment.text(name); };
    const auto collective = std::find_if(collectives().begin(), collectives().end(), [&](const Traits& one) {
        return one.name == assignment.text("collective");
    });
    const Config config{
        .pattern = word_of<Pattern>(pattern_words, word("pattern")),
        .collective = collective->collective,
        .way = word("way"),
        .start = word_of<Start>(start_words, word("start")),
        .message_bytes = assignment.integer("message_bytes"),
        .element = word_of<Element>(element_words, word("datatype")),
        .one_type = word("shape") == "one_type",
        .op = word_of<Op>(op_words, word("op")),
        .in_place = assignment.flag("in_place"),
        .to_neighbours = word("destinations") == "neighbours",
        .group = word_of<Group>(group_words, word("communicator")),
        .members = word("members") == "all" ? std::nullopt
                                            : std::optional(static_cast<int>(assignment.integer("members"))),
        .duplicates = assignment.integer("duplicates"),
        .root_is_last = word("root") == "last",
        .arrival = word_of<Arrival>(arrival_words, word("arrival")),
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
    check_messages(config);
    return config;
}

std::optional<std::string> obstacle(const Config& config, int ranks) {
    const auto job = ", the job has " + std::to_string(ranks);
    if (config.members && *config.members > ranks)
        return "members=" + std::to_string(*config.members) + " needs " + std::to_string(*config.members) +
               " ranks" + job;
    const int calling = config.members.value_or(ranks);
    if ((config.group == Group::halves || config.group == Group::strided) && calling < 4)
        return "communicator=" + std::string(group_words[static_cast<std::size_t>(config.group)]) +
               " needs 4 ranks that call, there are " + std::to_string(calling);
    return std::nullopt;
}

}  // namespace slowpath::coll
