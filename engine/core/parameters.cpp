// SPDX-License-Identifier: Apache-2.0
#include "core/parameters.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <set>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"

namespace slowpath {

namespace {

constexpr std::array<std::string_view, 2> flag_words{"on", "off"};

[[noreturn]] void out_of_range(const Parameter& parameter, std::string_view text, std::string_view what,
                               std::string_view limit) {
    throw UsageError("'" + std::string(text) + "' is " + std::string(what) + "; the " +
                     (what == "too small" ? "smallest" : "largest") + " value is " + std::string(limit) +
                     (parameter.unit.empty() ? "" : " " + std::string(parameter.unit)));
}

std::string canonical_word(std::string_view text, std::span<const std::string_view> words) {
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string(text);
    throw UsageError("'" + std::string(text) + "' is no valid choice" + suggestion(text, words));
}

std::string canonical_integer(const Parameter& parameter, std::string_view text) {
    const auto parse = parameter.type == ParameterType::bytes ? parse_bytes : parse_count;
    const std::int64_t value = parse(text);
    if (value < parse(parameter.minimum)) out_of_range(parameter, text, "too small", parameter.minimum);
    if (value > parse(parameter.maximum)) out_of_range(parameter, text, "too large", parameter.maximum);
    return std::to_string(value);
}

std::string canonical_seconds(const Parameter& parameter, std::string_view text) {
    const double value = parse_seconds(text);
    if (value < parse_seconds(parameter.minimum))
        out_of_range(parameter, text, "too small", parameter.minimum);
    if (value > parse_seconds(parameter.maximum))
        out_of_range(parameter, text, "too large", parameter.maximum);
    return std::string(text);
}

std::string canonical(const Parameter& parameter, std::string_view text) {
    if (parameter.type == ParameterType::choice) return canonical_word(text, parameter.choices);
    if (parameter.type == ParameterType::flag) return canonical_word(text, flag_words);
    const auto& words = parameter.choices;
    if (std::find(words.begin(), words.end(), text) != words.end()) return std::string(text);
    return parameter.type == ParameterType::seconds ? canonical_seconds(parameter, text)
                                                    : canonical_integer(parameter, text);
}

const Value& at(const std::map<std::string, Value, std::less<>>& values, std::string_view name) {
    const auto found = values.find(name);
    if (found == values.end()) throw std::logic_error("no parameter " + std::string(name) + " in the table");
    return found->second;
}

}  // namespace

const char* name(ParameterType type) {
    switch (type) {
        case ParameterType::bytes:
            return "bytes";
        case ParameterType::count:
            return "count";
        case ParameterType::seconds:
            return "seconds";
        case ParameterType::choice:
            return "choice";
        case ParameterType::flag:
            return "flag";
    }
    throw std::logic_error("unnamed parameter type");
}

const char* name(ParameterRole role) {
    switch (role) {
        case ParameterRole::setting:
            return "setting";
        case ParameterRole::covariate:
            return "covariate";
        case ParameterRole::effort:
            return "effort";
    }
    throw std::logic_error("unnamed parameter role");
}

const Parameter& find_parameter(std::span<const Parameter> table, std::string_view name) {
    std::string spelt(name);
    std::replace(spelt.begin(), spelt.end(), '-', '_');
    std::vector<std::string_view> names;
    for (const Parameter& parameter : table) {
        if (parameter.name == spelt) return parameter;
        names.push_back(parameter.name);
    }
    throw UsageError("unknown parameter '" + std::string(name) + "'" + suggestion(spelt, names));
}

Value parse_value(const Parameter& parameter, std::string_view text) {
    try {
        const std::size_t colon = text.find(':');
        if (colon == std::string_view::npos || !parameter.sided) {
            if (colon != std::string_view::npos)
                throw UsageError("'" + std::string(text) + "': this parameter has no sides; give one value");
            const std::string value = canonical(parameter, text);
            return {value, value};
        }
        return {canonical(parameter, text.substr(0, colon)), canonical(parameter, text.substr(colon + 1))};
    } catch (const UsageError& error) {
        throw UsageError(std::string(parameter.name) + ": " + error.what());
    }
}

Assignment::Assignment(std::span<const Parameter> table,
                       std::span<const std::pair<std::string, std::string>> given)
    : table_(table) {
    for (const auto& [key, text] : given) {
        const Parameter& parameter = find_parameter(table, key);
        const auto [where, added] = values_.emplace(parameter.name, parse_value(parameter, text));
        if (!added) throw UsageError("parameter '" + where->first + "' is given twice");
    }
    for (const Parameter& parameter : table)
        if (!values_.contains(parameter.name))
            values_.emplace(parameter.name, parse_value(parameter, parameter.default_value));
}

const std::string& Assignment::text(std::string_view name, Side side) const {
    const Value& value = at(values_, name);
    return side == Side::sender ? value.sender : value.receiver;
}

std::int64_t Assignment::integer(std::string_view name, Side side) const {
    return parse_count(text(name, side));
}

double Assignment::seconds(std::string_view name) const {
    return parse_seconds(text(name));
}

std::size_t Assignment::place_among_choices(std::string_view name, Side side) const {
    const std::vector<std::string_view>& words = find_parameter(table_, name).choices;
    return static_cast<std::size_t>(std::find(words.begin(), words.end(), text(name, side)) - words.begin());
}

std::string Assignment::differences(std::string_view except) const {
    std::string made;
    for (const Parameter& parameter : table_) {
        const Value& value = at(values_, parameter.name);
        if (parameter.name == except || value == parse_value(parameter, parameter.default_value)) continue;
        made += (made.empty() ? "" : " ") + std::string(parameter.name) + "=" + value.str();
    }
    return made;
}

namespace {

constexpr std::size_t most_values = 100'000;
constexpr std::size_t most_cells = 1'000'000;

[[noreturn]] void refuse(const Parameter& parameter, std::string_view text, const std::string& why) {
    throw UsageError(std::string(parameter.name) + ": '" + std::string(text) + "': " + why);
}

struct Range {
    std::int64_t first;
    std::int64_t last;
    std::int64_t step;
    bool multiply;
};

/// "1KiB..1MiB*2" or "0..64+8": the step is what follows '*', or else the last '+', since an end may be a
/// sum.
Range parse_range(const Parameter& parameter, std::string_view text, std::size_t dots) {
    const std::string_view first = text.substr(0, dots), rest = text.substr(dots + 2);
    std::size_t sign = rest.rfind('*');
    const bool multiply = sign != std::string_view::npos;
    if (!multiply) sign = rest.rfind('+');
    if (sign == std::string_view::npos)
        refuse(parameter, text, "a range needs a step; write for example 1KiB..1MiB*2 or 0..64+8");
    const auto parse = parameter.type == ParameterType::bytes ? parse_bytes : parse_count;
    try {
        const Range range{parse(first), parse(rest.substr(0, sign)), parse(rest.substr(sign + 1)), multiply};
        if (range.last < range.first) refuse(parameter, text, "the end of the range is below its beginning");
        if (range.step < (multiply ? 2 : 1))
            refuse(parameter, text, multiply ? "the factor must be 2 or more" : "the step must be 1 or more");
        if (multiply && range.first == 0) refuse(parameter, text, "a range from 0 can't grow by a factor");
        return range;
    } catch (const UsageError& error) {
        if (std::string_view(error.what()).starts_with(parameter.name)) throw;
        throw UsageError(std::string(parameter.name) + ": " + error.what());
    }
}

void expand_range(const Parameter& parameter, std::string_view text, std::size_t dots,
                  std::vector<std::string>& values) {
    if (parameter.type != ParameterType::bytes && parameter.type != ParameterType::count)
        refuse(parameter, text, "only byte values and counts have ranges; write a list (a,b,c)");
    if (text.find(':') != std::string_view::npos)
        refuse(parameter, text, "a range can't have sides; write a list of SENDER:RECEIVER");
    const Range range = parse_range(parameter, text, dots);
    std::int64_t value = range.first;
    while (value <= range.last) {
        if (values.size() == most_values) refuse(parameter, text, "more than 100000 values");
        values.push_back(std::to_string(value));
        const bool overflow = range.multiply ? __builtin_mul_overflow(value, range.step, &value)
                                             : __builtin_add_overflow(value, range.step, &value);
        if (overflow) break;
    }
}

}  // namespace

std::vector<std::string> expand_values(const Parameter& parameter, std::string_view text) {
    std::vector<std::string> values;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(',', begin), text.size());
        const std::string_view item = text.substr(begin, end - begin);
        const std::size_t dots = item.find("..");
        if (dots == std::string_view::npos)
            values.emplace_back(parse_value(parameter, item).str());
        else
            expand_range(parameter, item, dots, values);
        begin = end + 1;
    }
    return values;
}

std::vector<KeyValues> expand_cells(std::span<const Parameter> table, const KeyValues& given) {
    std::vector<KeyValues> cells{{}};
    for (const auto& [key, text] : given) {
        const Parameter& parameter = find_parameter(table, key);
        const std::vector<std::string> values = expand_values(parameter, text);
        if (cells.size() * values.size() > most_cells)
            throw UsageError("the lists multiply into over a million cells");
        std::vector<KeyValues> grown;
        for (const KeyValues& cell : cells) {
            for (const std::string& value : values) {
                grown.push_back(cell);
                grown.back().emplace_back(parameter.name, value);
            }
        }
        cells = std::move(grown);
    }
    return cells;
}

namespace {

struct Option {
    std::string_view name;
    std::optional<std::string> value;
};

/// "--key=value" or "--key value"; moves `at` past what it used.
Option take_option(std::span<const std::string_view> words, std::size_t& at) {
    const std::string_view word = words[at++].substr(2);
    const std::size_t equals = word.find('=');
    if (equals != std::string_view::npos)
        return {word.substr(0, equals), std::string(word.substr(equals + 1))};
    if (word == "help" || word == "version" || word == "json") return {word, std::nullopt};
    if (at == words.size() || words[at].starts_with("--"))
        throw UsageError("--" + std::string(word) + " needs a value");
    return {word, std::string(words[at++])};
}

void set_once(std::optional<std::string>& to, const Option& option) {
    if (to) throw UsageError("--" + std::string(option.name) + " is given twice");
    if (option.value->empty()) throw UsageError("--" + std::string(option.name) + ": empty path");
    to = option.value;
}

void set_ranks(Arguments& arguments, const Option& option) {
    if (arguments.ranks) throw UsageError("--ranks is given twice");
    const std::int64_t ranks = parse_count(*option.value);
    if (ranks < 1 || ranks > std::numeric_limits<int>::max())
        throw UsageError("--ranks " + *option.value + ": a job has 1 rank or more");
    arguments.ranks = static_cast<int>(ranks);
}

void finish_check(const Arguments& arguments) {
    if (!arguments.plan) throw UsageError("check needs --plan FILE, or --plan - for a plan on stdin");
    if (!arguments.parameters.empty() || arguments.out || arguments.json)
        throw UsageError("check takes --plan and --ranks only");
}

void finish(Arguments& arguments) {
    if (arguments.action == Action::help || arguments.action == Action::version) return;
    if (arguments.action == Action::check) return finish_check(arguments);
    if (arguments.action == Action::describe) {
        if (!arguments.parameters.empty() || arguments.out || arguments.plan)
            throw UsageError("describe takes --json only");
        return;
    }
    if (arguments.plan && !arguments.experiment.empty())
        throw UsageError("--plan names the experiments itself; drop '" + arguments.experiment +
                         "' or --plan");
    if (arguments.plan && !arguments.parameters.empty())
        throw UsageError("--" + arguments.parameters[0].first +
                         " can't go with --plan, which holds all parameters");
    if (arguments.plan && !arguments.out)
        throw UsageError("--plan needs --out DIR, the folder for the record");
    if (!arguments.plan && arguments.experiment.empty())
        throw UsageError("no experiment and no --plan given; see slowpath-engine --help");
    if (arguments.json) throw UsageError("--json belongs to describe");
    arguments.action = arguments.plan ? Action::run_plan : Action::run_experiment;
}

}  // namespace

Arguments parse_arguments(std::span<const std::string_view> words) {
    Arguments arguments;
    if (words.empty()) return arguments;
    arguments.action = Action::run_experiment;
    for (std::size_t at = 0; at < words.size();) {
        if (words[at] == "-h") {
            arguments.action = Action::help;
            ++at;
        } else if (words[at].starts_with("--") && words[at].size() > 2) {
            const Option option = take_option(words, at);
            if (option.name == "help" && !option.value) {
                arguments.action = Action::help;
            } else if (option.name == "version" && !option.value) {
                arguments.action = Action::version;
            } else if (option.name == "json" && !option.value) {
                arguments.json = true;
            } else if (option.name == "plan") {
                set_once(arguments.plan, option);
            } else if (option.name == "out") {
                set_once(arguments.out, option);
            } else if (option.name == "ranks" && arguments.action == Action::check) {
                set_ranks(arguments, option);
            } else {
                arguments.parameters.emplace_back(option.name, option.value.value_or(""));
            }
        } else if (at == 0) {
            if (words[0] == "describe")
                arguments.action = Action::describe;
            else if (words[0] == "check")
                arguments.action = Action::check;
            else
                arguments.experiment = words[0];
            ++at;
        } else {
            throw UsageError("'" + std::string(words[at]) + "': a parameter is written --name value");
        }
    }
    finish(arguments);
    return arguments;
}

namespace {

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    std::size_t begin = 0;
    while ((begin = line.find_first_not_of(" \t\r", begin)) != std::string_view::npos) {
        const std::size_t end = std::min(line.find_first_of(" \t\r", begin), line.size());
        words.emplace_back(line.substr(begin, end - begin));
        begin = end;
    }
    return words;
}

template <class Number>
Number number_of(const std::string& word, std::string_view what) {
    Number number = 0;
    const char* const end = word.data() + word.size();
    const auto [stop, error] = std::from_chars(word.data(), end, number);
    if (error != std::errc{} || stop != end)
        throw UsageError("'" + word + "' is no " + std::string(what) + "; a whole number from 0 to " +
                         std::to_string(std::numeric_limits<Number>::max()) + " is needed");
    return number;
}

PlannedCell cell_of(const std::vector<std::string>& words) {
    if (words.size() < 3) throw UsageError("a cell line is: cell NUMBER EXPERIMENT [NAME=VALUE]...");
    PlannedCell cell{number_of<std::uint32_t>(words[1], "cell number"), words[2], {}};
    for (std::size_t i = 3; i < words.size(); ++i) {
        const std::size_t equals = words[i].find('=');
        if (equals == std::string::npos || equals == 0)
            throw UsageError("'" + words[i] + "' is no parameter; write NAME=VALUE");
        cell.parameters.emplace_back(words[i].substr(0, equals), words[i].substr(equals + 1));
    }
    return cell;
}

void take_line(Plan& plan, const std::vector<std::string>& words, std::set<std::uint32_t>& cells) {
    if (words[0] == "cell") {
        plan.cells.push_back(cell_of(words));
        if (!cells.insert(plan.cells.back().cell).second)
            throw UsageError("cell " + words[1] + " is there twice");
    } else if (words.size() == 2 && words[0] == "launch") {
        plan.launch = number_of<std::uint32_t>(words[1], "launch number");
    } else if (words.size() == 2 && words[0] == "seed") {
        plan.seed = number_of<std::uint64_t>(words[1], "seed");
    } else {
        throw UsageError("'" + words[0] +
                         "': a line is 'launch N', 'seed N' or 'cell N EXPERIMENT NAME=VALUE...'");
    }
}

}  // namespace

Plan parse_plan(std::string_view text) {
    Plan plan;
    std::set<std::uint32_t> cells;
    std::size_t begin = 0;
    bool versioned = false;
    for (int number = 1; begin < text.size(); ++number) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        const std::vector<std::string> words = words_of(text.substr(begin, end - begin));
        begin = end + 1;
        if (words.empty()) continue;
        try {
            if (versioned)
                take_line(plan, words, cells);
            else if (words != std::vector<std::string>{"slowpath-plan", std::to_string(plan_version)})
                throw UsageError("a plan begins with 'slowpath-plan " + std::to_string(plan_version) +
                                 "', the only version that this engine reads");
            versioned = true;
        } catch (const UsageError& error) {
            throw UsageError("plan line " + std::to_string(number) + ": " + error.what());
        }
    }
    if (!versioned) throw UsageError("the plan is empty; it begins with 'slowpath-plan 1'");
    return plan;
}

}  // namespace slowpath
