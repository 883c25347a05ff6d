// SPDX-License-Identifier: Apache-2.0
#include "layers/datatype.hpp"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "layers/type_builder.hpp"

namespace slowpath::layers {
namespace {

TypeRecord records[most_records];  // touched where it is used only: 64 bytes a datatype

/// Which records are in use, and the blocks of each.
class Table {
  public:
    Table() {
        for (const Datatype handle : predefined_datatypes) {
            TypeRecord record{};
            record.size_bytes = record.true_ub_bytes = record.extent_bytes = size_in_handle(handle);
            record.alignment_bytes = std::min(size_in_handle(handle), 8U);
            record.flags = type_flags::committed;
            fill(handle, record, {Block{0, record.size_bytes}});
        }
    }

    Datatype add(const TypeRecord& record, const std::vector<Block>& blocks) {
        if (free_.empty() && blocks_.size() == most_derived)
            throw UsageError(
                "there are 32767 derived datatypes already; free those that are not needed any more");
        std::size_t index = blocks_.size();
        if (free_.empty()) {
            blocks_.emplace_back();
        } else {
            index = free_.back();
            free_.pop_back();
        }
        const auto handle = static_cast<Datatype>(index << 16);
        fill(handle, record, blocks);
        return handle;
    }

    void remove(Datatype handle) {
        records[index_of(handle)] = {};
        blocks_[index_of(handle)].reset();
        free_.push_back(index_of(handle));
    }

  private:
    void fill(Datatype handle, const TypeRecord& given, const std::vector<Block>& blocks) {
        auto kept = std::make_unique<Block[]>(blocks.size());
        std::copy(blocks.begin(), blocks.end(), kept.get());
        TypeRecord& record = records[index_of(handle)];
        record = given;
        classify(record, blocks);
        record.blocks = kept.get();
        record.handle = handle;
        (are_predefined(handle) ? predefined_.emplace_back() : blocks_[index_of(handle)]) = std::move(kept);
    }

    std::vector<std::unique_ptr<Block[]>> predefined_;
    std::vector<std::unique_ptr<Block[]>> blocks_{1};  ///< by index; index 0 is that of null
    std::vector<std::size_t> free_;
};

Table& table() {
    static Table only;
    return only;
}

Datatype finish(TypeBuilder& builder) {
    return table().add(builder.record(), builder.blocks());
}

}  // namespace

const TypeRecord* type_records() {
    table();
    return records;
}

const TypeRecord& record_of(Datatype datatype) {
    const TypeRecord& record = type_records()[index_of(datatype)];
    if (datatype == Datatype::null || record.handle != datatype) {
        throw UsageError("datatype handle " + std::to_string(static_cast<std::uint32_t>(datatype)) +
                         " stands for no datatype: it is null, was freed, or was never made");
    }
    return record;
}

std::span<const Block> blocks_of(Datatype datatype) {
    const TypeRecord& record = record_of(datatype);
    return {record.blocks, record.block_count};
}

Datatype contiguous(std::int64_t count, Datatype old) {
    TypeBuilder builder("contiguous");
    builder.append(count, 0, record_of(old));
    return finish(builder);
}

Datatype vector(std::int64_t count, std::int64_t block_length, std::int64_t stride, Datatype old) {
    std::int64_t stride_bytes;
    if (__builtin_mul_overflow(stride, record_of(old).extent_bytes, &stride_bytes))
        throw UsageError(
            "vector: the stride times the extent of the datatype is beyond 2^63 bytes; use a smaller one");
    return hvector(count, block_length, stride_bytes, old);
}

Datatype hvector(std::int64_t count, std::int64_t block_length, std::int64_t stride_bytes, Datatype old) {
    TypeBuilder builder("vector");
    const TypeRecord& record = record_of(old);
    if (count <= 0 || block_length <= 0) {
        // No data; the call refuses what is negative.
        builder.append(count < 0 ? count : std::min(block_length, std::int64_t{0}), 0, record);
        return finish(builder);
    }
    // Without data only the bounds are left, which the first and the last block reach.
    const std::int64_t step = record.size_bytes == 0 ? std::max(count - 1, std::int64_t{1}) : 1;
    for (std::int64_t i = 0; i < count; i += step)
        builder.append(block_length, Wide{stride_bytes} * i, record);
    return finish(builder);
}

Datatype indexed(std::span<const std::int64_t> block_lengths, std::span<const std::int64_t> displacements,
                 Datatype old) {
    if (block_lengths.size() != displacements.size())
        throw UsageError("indexed: as many displacements as block lengths are needed");
    TypeBuilder builder("indexed");
    const TypeRecord& record = record_of(old);
    for (std::size_t i = 0; i < block_lengths.size(); ++i)
        builder.append(block_lengths[i], Wide{displacements[i]} * record.extent_bytes, record);
    return finish(builder);
}

Datatype hindexed(std::span<const std::int64_t> block_lengths,
                  std::span<const std::int64_t> displacements_bytes, Datatype old) {
    if (block_lengths.size() != displacements_bytes.size())
        throw UsageError("hindexed: as many displacements as block lengths are needed");
    TypeBuilder builder("hindexed");
    const TypeRecord& record = record_of(old);
    for (std::size_t i = 0; i < block_lengths.size(); ++i)
        builder.append(block_lengths[i], displacements_bytes[i], record);
    return finish(builder);
}

Datatype structure(std::span<const std::int64_t> block_lengths,
                   std::span<const std::int64_t> displacements_bytes, std::span<const Datatype> olds) {
    if (block_lengths.size() != displacements_bytes.size() || block_lengths.size() != olds.size())
        throw UsageError("structure: as many displacements and datatypes as block lengths are needed");
    TypeBuilder builder("structure");
    for (std::size_t i = 0; i < block_lengths.size(); ++i)
        builder.append(block_lengths[i], displacements_bytes[i], record_of(olds[i]));
    return finish(builder);
}

Datatype resized(Datatype old, std::int64_t lb_bytes, std::int64_t extent_bytes) {
    constexpr std::int64_t farthest_bytes = std::int64_t{1} << 47;
    if (std::max(std::abs(lb_bytes), std::abs(extent_bytes)) > farthest_bytes)
        throw UsageError(
            "resized: a bound is beyond 2^47 bytes, which no process's memory holds; use a nearer one");
    const std::span<const Block> blocks = blocks_of(old);
    TypeRecord record = record_of(old);
    record.lb_bytes = lb_bytes;
    record.extent_bytes = extent_bytes;
    record.flags = 0;
    record.traits = type_traits::explicit_bounds;
    return table().add(record, {blocks.begin(), blocks.end()});
}

void commit(Datatype datatype) {
    record_of(datatype);
    records[index_of(datatype)].flags |= type_flags::committed;
}

void free(Datatype datatype) {
    record_of(datatype);
    if (are_predefined(datatype)) throw UsageError("a predefined datatype can't be freed");
    table().remove(datatype);
}

}  // namespace slowpath::layers
