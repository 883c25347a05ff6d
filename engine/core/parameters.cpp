// SPDX-License-Identifier: Apache-2.0
#include "core/parameters.hpp"

#include <algorithm>
#include <array>

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

}  // namespace slowpath
