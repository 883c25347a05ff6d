// SPDX-License-Identifier: Apache-2.0
#include "layers/blocks.hpp"

#include <algorithm>

namespace slowpath::layers {
namespace {

/// The blocks of consecutive elements, one after the other.
template <typename Byte>
class Cursor {
  public:
    Cursor(Byte* element, const TypeRecord& record)
        : element_(element),
          block_(record.blocks),
          end_(record.blocks + record.block_count),
          record_(&record) {
        open();
    }
    Byte* at() const { return at_; }
    std::int64_t left() const { return left_bytes_; }
    /// Go on by `bytes` <= left(). @return Whether an element ended; the next one may not exist, and is not
    /// read.
    bool advance(std::int64_t bytes) {
        at_ += bytes;
        left_bytes_ -= bytes;
        if (left_bytes_ != 0) return false;
        const bool ended = ++block_ == end_;
        if (ended) {
            block_ = record_->blocks;
            element_ += record_->extent_bytes;
        }
        open();
        return ended;
    }

  private:
    void open() {
        at_ = element_ + block_->offset_bytes;
        left_bytes_ = block_->bytes;
    }
    Byte* element_;
    const Block* block_;
    const Block* end_;
    const TypeRecord* record_;
    Byte* at_;
    std::int64_t left_bytes_;
};

[[gnu::always_inline]] inline void copy_block(std::byte* target, const std::byte* origin,
                                              std::int64_t bytes) {
    if (bytes == 4) [[likely]] {
        std::memcpy(target, origin, 4);
    } else if (bytes == 8) {
        std::memcpy(target, origin, 8);
    } else {
        std::memcpy(target, origin, static_cast<std::size_t>(bytes));
    }
}

template <class CopyBlock>
[[gnu::always_inline]] inline int copy_elements(std::byte* target, const std::byte* origin,
                                                const TypeRecord& record, std::int64_t count,
                                                CopyBlock copy) {
    const Block* const first = record.blocks;
    const Block* const end = first + record.block_count;
    for (;;) {
        const Block* block = first;
        do {
            copy(target + block->offset_bytes, origin + block->offset_bytes, block->bytes);
        } while (++block != end);
        if (--count == 0) return success;
        target += record.extent_bytes;
        origin += record.extent_bytes;
    }
}

template <typename Word>
[[gnu::always_inline]] inline int copy_words(std::byte* target, const std::byte* origin,
                                             const TypeRecord& record, std::int64_t count) {
    return copy_elements(
        target, origin, record, count,
        [](std::byte* to, const std::byte* from, std::int64_t) { std::memcpy(to, from, sizeof(Word)); });
}

/// Out of line: its call of memcpy would cost the other two a stack frame.
[[gnu::noinline]] int copy_any_blocks(std::byte* target, const std::byte* origin, const TypeRecord& record,
                                      std::int64_t count) {
    return copy_elements(target, origin, record, count, copy_block);
}

}  // namespace

int copy_any(std::byte* target, const std::byte* origin, std::uint64_t bytes) {
    if (bytes != 0) std::memcpy(target, origin, bytes);  // of no bytes, an address may be null
    return success;
}

int copy_same(std::byte* target, const std::byte* origin, const TypeRecord& record, std::int64_t count) {
    if (record.traits & type_traits::blocks_of_4)
        return copy_words<std::uint32_t>(target, origin, record, count);
    if (record.traits & type_traits::blocks_of_8)
        return copy_words<std::uint64_t>(target, origin, record, count);
    return copy_any_blocks(target, origin, record, count);
}

void copy_merged(std::byte* target, const TypeRecord& target_record, const std::byte* origin,
                 const TypeRecord& origin_record, std::int64_t origin_count) {
    Cursor<std::byte> to(target, target_record);
    Cursor<const std::byte> from(origin, origin_record);
    for (;;) {
        const std::int64_t bytes = std::min(to.left(), from.left());
        copy_block(to.at(), from.at(), bytes);
        to.advance(bytes);
        if (from.advance(bytes) && --origin_count == 0) return;
    }
}

}  // namespace slowpath::layers
