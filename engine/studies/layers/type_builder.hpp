// SPDX-License-Identifier: Apache-2.0
/// A datatype's type map put together piece by piece: the one loop behind all constructors.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/datatype.hpp"

namespace slowpath::layers {

__extension__ using Wide = __int128;  ///< holds products of two 64-bit numbers

class TypeBuilder {
  public:
    /// @param what The constructor's name, for its errors.
    explicit TypeBuilder(const char* what) : what_(what) {}

    /// Append `length` consecutive elements of `old`, the first at `displacement_bytes`.
    /// @throws UsageError: length < 0, bounds beyond 2^47 bytes, more than 2^24 blocks.
    void append(std::int64_t length, Wide displacement_bytes, const TypeRecord& old);

    /// The finished record, without blocks, handle and commitment. @throws UsageError: more than 2^47 bytes.
    TypeRecord record() const;
    std::vector<Block>& blocks() { return blocks_; }

  private:
    struct Bounds {
        bool any = false;
        std::int64_t lower = 0;
        std::int64_t upper = 0;
        void include(std::int64_t lower_bytes, std::int64_t upper_bytes);
    };

    void append_blocks(std::int64_t length, std::int64_t displacement_bytes, const TypeRecord& old);
    void append_block(Block block);
    std::int64_t within_limit(Wide bytes) const;

    const char* what_;
    std::vector<Block> blocks_;
    Wide size_bytes_ = 0;
    Bounds true_bounds_;
    Bounds bounds_;           ///< of pieces whose bounds follow from their data
    Bounds explicit_bounds_;  ///< of pieces that were resized: where there is one, only such count
    std::uint32_t alignment_bytes_ = 1;
};

/// Sets the flags and traits that follow from sizes, bounds and blocks.
void classify(TypeRecord& record, const std::vector<Block>& blocks);

}  // namespace slowpath::layers
