// SPDX-License-Identifier: Apache-2.0
#include "core/nearest.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace slowpath {

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
        }
    }
    return row[b.size()];
}

std::string suggestion(std::string_view word, std::span<const std::string_view> words) {
    const auto nearer = [&](std::string_view a, std::string_view b) {
        return edit_distance(word, a) < edit_distance(word, b);
    };
    const std::string_view best = *std::min_element(words.begin(), words.end(), nearer);
    if (2 * edit_distance(word, best) <= std::max(word.size(), best.size()))
        return " (did you mean " + std::string(best) + "?)";
    std::string list = " (valid:";
    for (const std::string_view valid : words) list += " " + std::string(valid);
    return list + ")";
}

}  // namespace slowpath
