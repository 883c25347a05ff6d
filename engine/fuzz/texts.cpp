// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/node_ranks.hpp"
#include "core/parameters.hpp"
#include "fuzz/targets.hpp"

namespace slowpath::fuzz {
namespace {

std::string written(const Plan& plan) {
    std::string text = "slowpath-plan 1\nlaunch " + std::to_string(plan.launch) + "\nseed " +
                       std::to_string(plan.seed) + "\n";
    for (const PlannedCell& cell : plan.cells) {
        text += "cell " + std::to_string(cell.cell) + " " + cell.experiment;
        for (const auto& [name, value] : cell.parameters) text += " " + name + "=" + value;
        text += "\n";
    }
    return text;
}

const std::vector<Parameter>& table() {
    static const std::vector<Parameter> parameters{
        {
            .name = "message_bytes",
            .type = ParameterType::bytes,
            .role = ParameterRole::covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "0",
            .maximum = "9223372036854775807",
            .meaning = "",
        },
        {
            .name = "buffer_bytes",
            .type = ParameterType::bytes,
            .role = ParameterRole::covariate,
            .unit = "bytes",
            .default_value = "8",
            .minimum = "0",
            .maximum = "9223372036854775807",
            .choices = {"message"},
            .sided = true,
            .meaning = "",
        },
        {
            .name = "samples",
            .type = ParameterType::count,
            .role = ParameterRole::effort,
            .default_value = "200",
            .minimum = "1",
            .maximum = "1000000000",
            .meaning = "",
        },
        {
            .name = "time_limit_s",
            .type = ParameterType::seconds,
            .role = ParameterRole::effort,
            .unit = "s",
            .default_value = "0.1",
            .minimum = "0",
            .maximum = "86400",
            .meaning = "",
        },
        {
            .name = "memory",
            .type = ParameterType::choice,
            .role = ParameterRole::setting,
            .default_value = "host",
            .choices = {"host", "device"},
            .sided = true,
            .meaning = "",
        },
        {
            .name = "validate",
            .type = ParameterType::flag,
            .role = ParameterRole::effort,
            .default_value = "on",
            .meaning = "",
        },
    };
    return parameters;
}

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The lines of an input, as the words of a command line.
std::vector<std::string> words_of(Input input) {
    std::vector<std::string> words(1);
    for (const std::uint8_t byte : input) {
        if (byte == '\n')
            words.emplace_back();
        else if (byte != 0)
            words.back() += static_cast<char>(byte);
    }
    return words;
}

template <class Read>
void unless_refused(Read read) {
    try {
        read();
    } catch (const UsageError& error) {
        if (std::string_view(error.what()).empty()) throw Defect("refused without a reason");
    }
}

}  // namespace

/// Command lines of the engine.
void read_arguments(Input input) {
    const std::vector<std::string> words = words_of(input);
    const std::vector<std::string_view> views(words.begin(), words.end());
    unless_refused([&] { parse_arguments(views); });
}

/// A plan that was read, written and read again is the same, and each cell's number is in the input.
void read_plan(Input input) {
    const std::string given = text_of(input);
    unless_refused([&] {
        const Plan plan = parse_plan(given);
        const std::string text = written(plan);
        if (written(parse_plan(text)) != text) throw Defect("the plan differs when it is read again");
        for (const PlannedCell& cell : plan.cells)
            if (given.find(std::to_string(cell.cell)) == std::string::npos)
                throw Defect("cell " + std::to_string(cell.cell) + " is not in the plan");
    });
}

/// What another rank says of itself: packed again, it is the same.
void read_ranks(Input input) {
    const RankValues values = unpacked(text_of(input));
    if (unpacked(packed(values)) != values) throw Defect("values differ when they are packed again");
    const std::vector<RankValues> ranks{values, values, unpacked("")};
    if (node_ranks_json(ranks).empty()) throw Defect("no nodes");
}

/// Each parameter takes or refuses the text; plain digits mean what they say.
void read_values(Input input) {
    const std::string text = text_of(input);
    for (const Parameter& parameter : table()) {
        unless_refused([&] {
            if (expand_values(parameter, text).empty()) throw Defect("no value and no complaint");
        });
    }
    for (const auto parse : {parse_bytes, parse_count}) {
        unless_refused([&] {
            const std::int64_t number = parse(text);
            const std::string digits = text.substr(std::min(text.find_first_not_of('0'), text.size()));
            if (number < 0) throw Defect("a number below 0");
            if (all_digits(text) && std::to_string(number) != (digits.empty() ? "0" : digits))
                throw Defect("'" + text + "' was read as " + std::to_string(number));
        });
    }
    unless_refused([&] {
        if (!(parse_seconds(text) >= 0)) throw Defect("a time below 0");
    });
}

}  // namespace slowpath::fuzz
