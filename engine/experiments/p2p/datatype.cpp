// SPDX-License-Identifier: Apache-2.0
#include "p2p/datatype.hpp"

#include <climits>

#include "core/error.hpp"

namespace slowpath::p2p {
namespace {

/// From one block to the next, in lengths of a block.
std::int64_t stride_of(Datatype datatype) {
    return datatype == Datatype::indexed_uneven ? 3 : 2;
}

[[noreturn]] void no_whole_blocks(std::int64_t message, const std::string& of_what) {
    throw UsageError("message_bytes " + std::to_string(message) + " is no multiple of " + of_what +
                     ": a message with gaps consists of whole blocks");
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
    if (word == "indexed_uneven") return Datatype::indexed_uneven;
    return word == "indexed" ? Datatype::indexed : Datatype::contiguous;
}

}  // namespace

Shape shape_of(const Assignment& assignment, Side which) {
    const std::int64_t message = assignment.integer("message_bytes");
    const Datatype datatype = datatype_of(assignment.text("datatype", which));
    if (datatype == Datatype::contiguous) return {datatype, Layout::piece(message)};
    // Counts, lengths and displacements of derived datatypes are int, and the gaps lengthen the message.
    const std::int64_t stride = stride_of(datatype), longest = INT_MAX / stride;
    if (message > longest)
        throw UsageError("message_bytes " + std::to_string(message) + " is over " + std::to_string(longest) +
                         ", the most that datatype=" + assignment.text("datatype", which) +
                         " takes; take datatype=contiguous");
    const std::int64_t blocks = blocks_of(assignment, message);
    const std::int64_t each = blocks == 0 ? 0 : message / blocks;
    // Gaps of three blocks' length and of one by turns: not stride, which some libraries move like a vector.
    const std::int64_t shift = datatype == Datatype::indexed_uneven ? each : 0;
    return {datatype, {message, blocks, each, stride * each, shift}};
}

}  // namespace slowpath::p2p
