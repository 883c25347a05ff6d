// SPDX-License-Identifier: Apache-2.0
#include "core/plan.hpp"

#include <charconv>
#include <limits>
#include <set>

#include "core/error.hpp"

namespace slowpath {
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
