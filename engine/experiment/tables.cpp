// SPDX-License-Identifier: Apache-2.0
#include "experiment/tables.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

namespace slowpath {
namespace {

using Words = std::vector<std::string_view>;

/// Takes what it names off the front of a text.
class Reader {
  public:
    explicit Reader(std::string_view text) : rest_(text) {}

    bool at_end() {
        skip_blanks();
        return rest_.empty();
    }
    bool takes(char letter) {
        skip_blanks();
        if (rest_.empty() || rest_.front() != letter) return false;
        rest_.remove_prefix(1);
        return true;
    }
    void expect(char letter) {
        if (!takes(letter))
            throw std::logic_error(std::string("a table lacks '") + letter + "' before " +
                                   std::string(rest_.substr(0, 40)));
    }
    std::string_view name() {
        skip_blanks();
        return take(std::min(rest_.find_first_of(" =]\n"), rest_.size()));
    }
    std::string_view string() {
        expect('"');
        const std::string_view found = take(std::min(rest_.find('"'), rest_.size()));
        expect('"');
        return found;
    }
    /// A string, a list of strings, or a bare word.
    Words value() {
        skip_blanks();
        if (takes('[')) {
            Words words;
            while (!takes(']')) {
                words.push_back(string());
                takes(',');
            }
            return words;
        }
        if (rest_.starts_with('"')) return {string()};
        return {take(std::min(rest_.find_first_of(" ,}\n"), rest_.size()))};
    }

  private:
    void skip_blanks() {
        for (;;) {
            rest_.remove_prefix(std::min(rest_.find_first_not_of(" \n"), rest_.size()));
            if (!rest_.starts_with('#')) return;
            rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
        }
    }
    std::string_view take(std::size_t letters) {
        const std::string_view taken = rest_.substr(0, letters);
        rest_.remove_prefix(letters);
        return taken;
    }

    std::string_view rest_;
};

using Row = std::map<std::string_view, Words>;

Row read_row(Reader& reader) {
    Row row;
    reader.expect('=');
    reader.expect('{');
    while (!reader.takes('}')) {
        const std::string_view key = reader.name();
        reader.expect('=');
        row[key] = reader.value();
        reader.takes(',');
    }
    return row;
}

std::string_view word_of(const Row& row, std::string_view key, std::string_view otherwise = "") {
    const auto found = row.find(key);
    return found == row.end() ? otherwise : found->second.at(0);
}

/// The enumerator that name() calls so.
template <class Enumeration, std::size_t count>
Enumeration named(std::string_view word, const std::array<Enumeration, count>& all) {
    for (const Enumeration one : all)
        if (word == name(one)) return one;
    throw std::logic_error("a table says " + std::string(word));
}

Parameter parameter_of(std::string_view name, const Row& row) {
    using enum ParameterType;
    using enum ParameterRole;
    return {
        .name = name,
        .type = named(word_of(row, "type", "choice"), std::array{bytes, count, seconds, choice, flag}),
        .role = named(word_of(row, "role", "setting"), std::array{setting, covariate, effort}),
        .unit = word_of(row, "unit"),
        .default_value = word_of(row, "default"),
        .minimum = word_of(row, "minimum"),
        .maximum = word_of(row, "maximum"),
        .choices = row.contains("choices") ? row.at("choices") : Words{},
        .sided = row.contains("sided"),
        .meaning = word_of(row, "meaning"),
    };
}

Metric metric_of(std::string_view name, const Row& row, std::string_view pattern) {
    return {
        .name = name,
        .unit = word_of(row, "unit", "s"),
        .pattern = pattern,
        .better = named(word_of(row, "better", "lower"), std::array{Better::lower, Better::higher}),
        .meaning = word_of(row, "meaning"),
        .definition = word_of(row, "definition"),
        .bandwidth = row.contains("bandwidth"),
        .message_rate = row.contains("message_rate"),
    };
}

}  // namespace

Tables read_tables(std::string_view text) {
    Tables tables;
    std::vector<std::pair<std::string_view, Row>> metrics;
    Words patterns;
    std::string_view table;
    for (Reader reader(text); !reader.at_end();) {
        if (reader.takes('[')) {
            table = reader.name();
            reader.expect(']');
            continue;
        }
        const std::string_view name = reader.name();
        Row row = read_row(reader);
        if (table == "parameters") {
            tables.parameters.push_back(parameter_of(name, row));
        } else {
            for (const std::string_view pattern : row.at("pattern"))
                if (std::find(patterns.begin(), patterns.end(), pattern) == patterns.end())
                    patterns.push_back(pattern);
            metrics.emplace_back(name, std::move(row));
        }
    }
    for (const std::string_view pattern : patterns)
        for (const auto& [name, row] : metrics)
            if (const Words& of = row.at("pattern"); std::find(of.begin(), of.end(), pattern) != of.end())
                tables.metrics.push_back(metric_of(name, row, pattern));
    return tables;
}

}  // namespace slowpath
