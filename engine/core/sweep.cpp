// SPDX-License-Identifier: Apache-2.0
#include "core/sweep.hpp"

#include <algorithm>

#include "core/bytes.hpp"
#include "core/error.hpp"

namespace slowpath {
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

}  // namespace slowpath
