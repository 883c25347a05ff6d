// SPDX-License-Identifier: Apache-2.0
#include "counting/mappings.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <iterator>
#include <optional>

#include "core/error.hpp"

namespace slowpath::counting {
namespace {

/// Takes a hexadecimal number and the letter after it off the front.
std::optional<std::uint64_t> take_number(std::string_view& text, char after) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end == text.data() + text.size() || *end != after) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
    return value;
}

/// "55d0c000-55d0d000 r-xp 00001000 fe:01 1234    /usr/bin/true"
std::optional<Mapping> parse_line(std::string_view line) {
    Mapping mapping;
    const auto begin = take_number(line, '-');
    const auto end = begin ? take_number(line, ' ') : std::nullopt;
    if (!end || line.size() < 5) return std::nullopt;
    mapping.executable = line[2] == 'x';
    line.remove_prefix(5);
    const auto offset = take_number(line, ' ');
    if (!offset) return std::nullopt;
    for (int column = 0; column < 2; ++column) line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    mapping.begin = *begin;
    mapping.end = *end;
    mapping.offset = *offset;
    mapping.path = line;
    return mapping;
}

}  // namespace

std::vector<Mapping> parse_mappings(std::string_view text) {
    std::vector<Mapping> mappings;
    while (!text.empty()) {
        const std::size_t length = std::min(text.size(), text.find('\n'));
        if (auto mapping = parse_line(text.substr(0, length))) mappings.push_back(std::move(*mapping));
        text.remove_prefix(std::min(text.size(), length + 1));
    }
    return mappings;
}

std::vector<Mapping> read_mappings(const std::string& process) {
    std::ifstream file("/proc/" + process + "/maps");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    if (text.empty())
        throw EnvironmentFailure(
            "/proc/" + process +
            "/maps can't be read, so the libraries of that process are not known; mount /proc");
    return parse_mappings(text);
}

const Mapping* find_mapping(const std::vector<Mapping>& mappings, std::uint64_t address) {
    const auto after =
        std::upper_bound(mappings.begin(), mappings.end(), address,
                         [](std::uint64_t at, const Mapping& mapping) { return at < mapping.begin; });
    if (after == mappings.begin()) return nullptr;
    const Mapping& mapping = *std::prev(after);
    return address < mapping.end ? &mapping : nullptr;
}

}  // namespace slowpath::counting
