// SPDX-License-Identifier: Apache-2.0
#include "core/text_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace slowpath {
namespace {

constexpr std::size_t first_width = 16;
constexpr std::size_t column_width = 22;

std::string padded(std::string_view text, std::size_t width) {
    return std::string(width > text.size() ? width - text.size() : 1, ' ') + std::string(text);
}

/// Two decimals as OSU has them, more where two would leave fewer than three digits.
std::string formatted(double number) {
    const int decimals = std::abs(number) >= 10 ? 2 : 4;
    std::array<char, 64> text;
    const int length = std::snprintf(text.data(), text.size(), "%.*f", decimals, number);
    return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::string table_header(const std::vector<std::string_view>& columns) {
    std::string line = "# " + std::string(columns[0]);
    line.resize(std::max(line.size(), first_width), ' ');
    for (std::size_t i = 1; i < columns.size(); ++i) line += padded(columns[i], column_width);
    return line + "\n";
}

std::string table_row(std::int64_t size, const std::vector<std::optional<double>>& numbers) {
    std::string line = std::to_string(size);
    line.resize(std::max(line.size() + 1, first_width), ' ');
    for (const std::optional<double>& number : numbers)
        line += padded(number ? formatted(*number) : "-", column_width);
    return line + "\n";
}

std::optional<double> median(std::vector<double> values) {
    if (values.empty()) return std::nullopt;
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace slowpath
