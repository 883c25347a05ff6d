// SPDX-License-Identifier: Apache-2.0
#include "p2p/datatype.hpp"

#include <climits>

#include "core/error.hpp"

namespace slowpath::p2p {
namespace {

/// Counts, lengths and displacements of derived datatypes are int, and the gaps double the length.
constexpr std::int64_t longest_bytes = INT_MAX / 2;

[[noreturn]] void no_whole_blocks(std::int64_t message, const std::string& of_what) {
    throw UsageError("message_bytes " + std::to_string(message) + " is no multiple of " + of_what +
                     ": a message of datatype=vector or indexed consists of whole blocks");
}

std::int64_t blocks_of(const Assignment& assignment, std::int64_t message) {
    const std::int64_t blocks = assignment.integer("blocks");
    if (assignment.text("block_bytes") == "auto") {
        if (message % blocks != 0) no_whole_blocks(message, "blocks " + std::to_string(blocks));
        return blocks;
    }
    const std::int64_t each = assignment.integer("block_bytes");
    if (message % each != 0) no_whole_blocks(message, "block_bytes " + std::to_string(each));
    if (blocks != 1 && blocks != message / each)
        throw UsageError("blocks " + std::to_string(blocks) + " and block_bytes " + std::to_string(each) +
                         " don't make message_bytes " + std::to_string(message) + "; leave one of them out");
    return message / each;
}

Datatype datatype_of(const std::string& word) {
    if (word == "vector") return Datatype::vector;
    return word == "indexed" ? Datatype::indexed : Datatype::contiguous;
}

}  // namespace

Shape shape_of(const Assignment& assignment, Side which) {
    const std::int64_t message = assignment.integer("message_bytes");
    const Datatype datatype = datatype_of(assignment.text("datatype", which));
    if (datatype == Datatype::contiguous) return {datatype, Layout::piece(message)};
    if (message > longest_bytes)
        throw UsageError("message_bytes " + std::to_string(message) + " is over " +
                         std::to_string(longest_bytes) +
                         ", the most that datatype=vector and indexed take; take datatype=contiguous");
    const std::int64_t blocks = blocks_of(assignment, message);
    const std::int64_t each = blocks == 0 ? 0 : message / blocks;
    return {datatype, {message, blocks, each, 2 * each}};
}

}  // namespace slowpath::p2p
