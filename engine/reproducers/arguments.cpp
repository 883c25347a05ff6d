// SPDX-License-Identifier: Apache-2.0
#include "reproducers/arguments.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace slowpath::reproducers {

const std::string_view overalloc_usage =
    "<num_iterations> <num_sub_iterations> <p2p_size> <buffer_size> "
    "<overalloc_size>"
    " [--memory device|managed|pinned_host|host]\n"
    "Send p2p_size bytes from a fresh GPU buffer of buffer_size + overalloc_size bytes on rank 0 to the last "
    "rank,\n"
    "num_sub_iterations times for each of num_iterations buffers; then the same without overalloc_size, and\n"
    "no more bytes than such a buffer has.\n"
    "Sizes are in bytes. --memory is an addition of Slowpath: other memory than the GPU's (default: "
    "device).\n";

const std::string_view pinned_host_usage =
    "<num_iterations> <num_sub_iterations> <mem_type> <p2p_size>\n"
    "Send p2p_size bytes from a fresh buffer on rank 0 to the last rank, num_sub_iterations times for each "
    "of\n"
    "num_iterations buffers. mem_type is host, pinned_host or device; p2p_size is in bytes.\n";

namespace {

using memory::Kind;

void expect_count(Words words, std::size_t count) {
    if (words.size() == count) return;
    throw UsageError(std::to_string(count) + " arguments are needed, " + std::to_string(words.size()) +
                     " were given");
}

/// A plain decimal number from `least` on, as the original commands take it: no sign, no suffix.
std::int64_t number(std::string_view name, std::string_view word, std::int64_t least) {
    const std::string refused = std::string(name) + " is '" + std::string(word) + "'";
    std::int64_t value = 0;
    const auto [end, code] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (code == std::errc::result_out_of_range) throw UsageError(refused + ": it must be below 2^63");
    if (code != std::errc() || end != word.data() + word.size())
        throw UsageError(refused + ": it must be a whole number in decimal digits, without a unit");
    if (value < least) throw UsageError(refused + ": it must be at least " + std::to_string(least));
    return value;
}

Kind memory_kind(std::string_view name, std::string_view word, std::span<const Kind> allowed) {
    std::string choices;
    for (const Kind kind : allowed) {
        if (word == memory::name(kind)) return kind;
        choices += std::string(choices.empty() ? "" : ", ") + memory::name(kind);
    }
    throw UsageError(std::string(name) + " is '" + std::string(word) + "': it must be one of " + choices);
}

/// Take `--memory KIND` or `--memory=KIND` out of the words, wherever it stands.
std::optional<Kind> take_memory(std::vector<std::string_view>& words) {
    constexpr std::string_view option = "--memory";
    constexpr std::array allowed{Kind::device, Kind::managed, Kind::pinned_host, Kind::host};
    std::optional<Kind> kind;
    for (auto word = words.begin(); word != words.end();) {
        if (word->rfind("--", 0) != 0) {
            ++word;
            continue;
        }
        const std::size_t equals = word->find('=');
        if (word->substr(0, equals) != option)
            throw UsageError("there is no option '" + std::string(*word) + "': the only one is --memory");
        if (kind) throw UsageError("--memory is given twice");
        const bool apart = equals == std::string_view::npos;
        if (apart && word + 1 == words.end())
            throw UsageError("--memory needs a value, for example --memory host");
        kind = memory_kind(option, apart ? *(word + 1) : word->substr(equals + 1), allowed);
        word = words.erase(word, word + (apart ? 2 : 1));
    }
    return kind;
}

void check_sizes(const OverallocArguments& given) {
    if (given.overalloc_bytes > std::numeric_limits<std::int64_t>::max() - given.buffer_bytes)
        throw UsageError("buffer_size + overalloc_size must be below 2^63");
    const std::int64_t longest_bytes = given.buffer_bytes + given.overalloc_bytes;
    if (given.p2p_bytes > longest_bytes)
        throw UsageError("p2p_size " + std::to_string(given.p2p_bytes) +
                         " is larger than buffer_size + overalloc_size, " + std::to_string(longest_bytes));
}

}  // namespace

OverallocArguments parse_overalloc(Words given) {
    std::vector<std::string_view> words(given.begin(), given.end());
    const Kind kind = take_memory(words).value_or(Kind::device);
    expect_count(words, 5);
    const OverallocArguments arguments{
        .num_iterations = number("num_iterations", words[0], 1),
        .num_sub_iterations = number("num_sub_iterations", words[1], 1),
        .p2p_bytes = number("p2p_size", words[2], 0),
        .buffer_bytes = number("buffer_size", words[3], 0),
        .overalloc_bytes = number("overalloc_size", words[4], 0),
        .memory = kind,
    };
    check_sizes(arguments);
    return arguments;
}

PinnedHostArguments parse_pinned_host(Words words) {
    constexpr std::array allowed{Kind::host, Kind::pinned_host, Kind::device};
    expect_count(words, 4);
    return {
        .num_iterations = number("num_iterations", words[0], 1),
        .num_sub_iterations = number("num_sub_iterations", words[1], 1),
        .memory = memory_kind("mem_type", words[2], allowed),
        .p2p_bytes = number("p2p_size", words[3], 0),
    };
}

}  // namespace slowpath::reproducers
