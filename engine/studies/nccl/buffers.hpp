// SPDX-License-Identifier: Apache-2.0
/// What a rank gives and gets, in device memory, the same for all libraries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "memory/buffer.hpp"
#include "nccl/operation.hpp"

namespace slowpath::nccl {

class Buffers {
  public:
    /// Both allocations are as long as the call needs, at least `buffer_bytes`, and `overalloc_bytes` more.
    /// @throws memory::Error.
    Buffers(const Call& call, std::int64_t buffer_bytes, std::int64_t overalloc_bytes, int device);

    const std::byte* from() const { return from_.data(); }
    std::byte* to() { return to_.data(); }
    const memory::Buffer& given() const { return from_; }
    const memory::Buffer& got() const { return to_; }

    /// New numbers to give, and nothing of what came before in what this rank gets.
    void fill(std::uint32_t salt);
    /// Adds what it compared.  What was wrong first: first_wrong.
    void compare(std::uint32_t salt, const std::string& when);

    std::int64_t compared_bytes = 0, wrong_bytes = 0;
    std::optional<std::string> first_wrong;

  private:
    Call call_;
    memory::Buffer from_, to_;
};

}  // namespace slowpath::nccl
