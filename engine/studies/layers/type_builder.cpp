// SPDX-License-Identifier: Apache-2.0
#include "layers/type_builder.hpp"

#include <algorithm>
#include <string>

#include "core/error.hpp"

namespace slowpath::layers {
namespace {

constexpr std::int64_t farthest_bytes = std::int64_t{1} << 47;  // the address space of a process on x86-64
constexpr std::size_t most_blocks = std::size_t{1} << 24;
constexpr std::int64_t longest_dense_bytes = (std::int64_t{1} << 32) - 1;
constexpr std::int64_t longest_forward_bytes = (std::int64_t{1} << 31) - 1;

bool is_dense(const TypeRecord& record) {
    return (record.flags & type_flags::dense) != 0;
}

}  // namespace

void TypeBuilder::Bounds::include(std::int64_t lower_bytes, std::int64_t upper_bytes) {
    lower = any ? std::min(lower, lower_bytes) : lower_bytes;
    upper = any ? std::max(upper, upper_bytes) : upper_bytes;
    any = true;
}

std::int64_t TypeBuilder::within_limit(Wide bytes) const {
    if (bytes > farthest_bytes || bytes < -farthest_bytes) {
        throw UsageError(
            std::string(what_) +
            ": the datatype reaches beyond 2^47 bytes, which no process's memory holds; use smaller "
            "counts, strides or displacements");
    }
    return static_cast<std::int64_t>(bytes);
}

void TypeBuilder::append(std::int64_t length, Wide displacement_bytes, const TypeRecord& old) {
    if (length < 0) {
        throw UsageError(std::string(what_) + ": a count or block length is " + std::to_string(length) +
                         ", but can't be negative");
    }
    const bool explicitly = (old.traits & type_traits::explicit_bounds) != 0;
    if (length == 0 || (old.size_bytes == 0 && !explicitly)) return;
    const Wide last_bytes = Wide{old.extent_bytes} * (length - 1);
    const Wide first = displacement_bytes + std::min(last_bytes, Wide{0});
    const Wide last = displacement_bytes + std::max(last_bytes, Wide{0});
    Bounds& bounds = explicitly ? explicit_bounds_ : bounds_;
    bounds.include(within_limit(first + old.lb_bytes), within_limit(last + old.lb_bytes + old.extent_bytes));
    alignment_bytes_ = std::max(alignment_bytes_, old.alignment_bytes);
    if (old.size_bytes == 0) return;
    true_bounds_.include(within_limit(first + old.true_lb_bytes), within_limit(last + old.true_ub_bytes));
    size_bytes_ += Wide{old.size_bytes} * length;
    append_blocks(length, static_cast<std::int64_t>(displacement_bytes), old);
}

void TypeBuilder::append_blocks(std::int64_t length, std::int64_t displacement_bytes, const TypeRecord& old) {
    if (is_dense(old)) {
        append_block({displacement_bytes + old.true_lb_bytes, length * old.size_bytes});
        return;
    }
    for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t element_bytes = displacement_bytes + i * old.extent_bytes;
        for (std::uint32_t block = 0; block < old.block_count; ++block)
            append_block({element_bytes + old.blocks[block].offset_bytes, old.blocks[block].bytes});
    }
}

/// Blocks that follow one another in the type map and in memory are one; the type map's order is kept,
/// because it is the order of the data (MPI-4.1 section 5.1.1).
void TypeBuilder::append_block(Block block) {
    if (!blocks_.empty() && blocks_.back().offset_bytes + blocks_.back().bytes == block.offset_bytes) {
        blocks_.back().bytes += block.bytes;
        return;
    }
    if (blocks_.size() == most_blocks) {
        throw UsageError(
            std::string(what_) +
            ": the datatype has more than 2^24 separate blocks; put a smaller one several times");
    }
    blocks_.push_back(block);
}

TypeRecord TypeBuilder::record() const {
    TypeRecord record{};
    record.size_bytes = within_limit(size_bytes_);
    record.true_lb_bytes = true_bounds_.lower;
    record.true_ub_bytes = true_bounds_.upper;
    record.alignment_bytes = alignment_bytes_;
    const Bounds& bounds = explicit_bounds_.any ? explicit_bounds_ : bounds_;
    record.lb_bytes = bounds.lower;
    record.extent_bytes = bounds.upper - bounds.lower;
    if (explicit_bounds_.any) {
        record.traits = type_traits::explicit_bounds;
    } else if (const std::int64_t over = record.extent_bytes % alignment_bytes_; over != 0) {
        record.extent_bytes += alignment_bytes_ - over;
    }
    return record;
}

void classify(TypeRecord& record, const std::vector<Block>& blocks) {
    record.block_count = static_cast<std::uint32_t>(blocks.size());
    if (blocks.size() == 1 && record.extent_bytes == record.size_bytes &&
        record.size_bytes <= longest_dense_bytes)
        record.flags |= type_flags::dense;
    if (blocks.empty()) return;
    if (record.extent_bytes >= 0 && record.extent_bytes <= longest_forward_bytes)
        record.traits |= type_traits::forward;
    const auto all_are = [&](std::int64_t bytes) {
        return std::all_of(blocks.begin(), blocks.end(),
                           [=](const Block& block) { return block.bytes == bytes; });
    };
    if (all_are(4)) record.traits |= type_traits::blocks_of_4;
    if (all_are(8)) record.traits |= type_traits::blocks_of_8;
}

}  // namespace slowpath::layers
