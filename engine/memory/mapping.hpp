// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "memory/buffer.hpp"

namespace slowpath::memory {

/// A mapping of its own for each allocation: no heap, no arena, no page that was ever used before.
/// One page without access on each side, where the neighbouring addresses are free, keeps the kernel from
/// merging it with other mappings, whose pages smaps would then count together with ours.
class Mapping {
  public:
    /// @param alignment_bytes Where base() stands at least; 0: wherever the kernel puts it.
    /// @throws Error when mmap refuses.  `bytes` 0 still maps one page.
    Mapping(Pages pages, std::size_t bytes, std::size_t alignment_bytes = 0);

    std::byte* base() const { return base_; }

    /// munmap.  @throws Error
    void release();

  private:
    void map_private(std::size_t alignment_bytes);
    void map_plain(int flags);
    void map_aligned(std::size_t alignment_bytes);
    void advise(int advice, const char* call);
    void guard();

    std::size_t bytes_;  // whole pages
    std::byte* base_ = nullptr;
    std::size_t guard_before_bytes_ = 0;
    std::size_t guard_after_bytes_ = 0;
};

}  // namespace slowpath::memory
