// SPDX-License-Identifier: Apache-2.0
#include "core/node_ranks.hpp"

#include <algorithm>
#include <map>

#include "core/json.hpp"

namespace slowpath {
namespace {

constexpr char separator = '\n';  // JSON values of one line never hold it
constexpr std::size_t host_at = 0, pid_at = 1;

using Node = std::vector<std::size_t>;  // its ranks, in their order

/// "0-3,8": the kernel's list format.
std::string ranges(const std::vector<std::size_t>& numbers) {
    std::string list;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const std::size_t first = numbers[i];
        while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
        list += (list.empty() ? "" : ",") + std::to_string(first);
        if (numbers[i] != first) list += "-" + std::to_string(numbers[i]);
    }
    return list;
}

/// One value if it is that of all ranks of the node, else one for each.
std::string column(std::span<const RankValues> ranks, const Node& node, std::size_t at, bool always_listed) {
    std::vector<std::string> values;
    for (const std::size_t rank : node) values.push_back(ranks[rank][at]);
    const bool same = std::all_of(values.begin(), values.end(),
                                  [&](const std::string& value) { return value == values.front(); });
    return same && !always_listed ? values.front() : json_array(values);
}

std::string node_json(std::span<const RankValues> ranks, const Node& node) {
    JsonObject made, clock;
    made.raw("host", ranks[node.front()][host_at]).text("ranks", ranges(node));
    // Listed even if there is one: its length shows a reader how many ranks there are.
    for (std::size_t i = pid_at; i < rank_fields.size(); ++i)
        made.raw(rank_fields[i], column(ranks, node, i, i == pid_at));
    for (std::size_t i = 0; i < rank_clock_fields.size(); ++i)
        clock.raw(rank_clock_fields[i], column(ranks, node, rank_fields.size() + i, false));
    return made.raw("clock", clock.str()).str();
}

}  // namespace

std::string packed(const RankValues& values) {
    std::string text;
    for (const std::string& value : values) text += value + separator;
    return text;
}

RankValues unpacked(std::string_view text) {
    RankValues values;
    for (std::string& value : values) {
        const std::size_t end = text.find(separator);
        value = text.substr(0, end);
        text.remove_prefix(end + 1);
    }
    return values;
}

std::string node_ranks_json(std::span<const RankValues> ranks) {
    std::vector<Node> nodes;
    std::map<std::string_view, std::size_t> known;
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
        const auto [place, fresh] = known.try_emplace(ranks[rank][host_at], nodes.size());
        if (fresh) nodes.emplace_back();
        nodes[place->second].push_back(rank);
    }
    std::vector<std::string> made;
    for (const Node& node : nodes) made.push_back(node_json(ranks, node));
    return json_array(made);
}

}  // namespace slowpath
