// SPDX-License-Identifier: Apache-2.0
/// What messages are sent from and received into.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skeleton/script.hpp"

namespace slowpath::skeleton {

/// Pages of their own, which go with it. @throws std::bad_alloc.
class Pages {
  public:
    explicit Pages(std::size_t bytes);
    ~Pages();
    Pages(Pages&& other) noexcept;
    Pages& operator=(Pages&&) = delete;

    std::byte* data() const { return data_; }

  private:
    std::byte* data_;
    std::size_t bytes_;
};

/// The buffers of a script, written to once; and new memory for each message that had new memory.
class Memory {
  public:
    explicit Memory(const Script& script);

    /// @param is_sent What is sent was written before: its pages are there.
    std::byte* at(const Message& message, bool is_sent);
    /// Makes the new memory of what comes next, as a program does outside of its calls.
    void prepare(const Operation& next);
    /// Frees new memory of messages that are over. @param has_open Some request is not complete: nothing
    /// goes.
    void release(bool has_open);
    /// What collectives send and receive.
    std::byte* given() { return given_.data(); }
    std::byte* taken() { return taken_.data(); }

  private:
    std::vector<std::vector<std::byte>> buffers_;
    std::vector<std::byte> given_;
    std::vector<std::byte> taken_;
    std::vector<Pages> fresh_;
    std::byte* prepared_ = nullptr;
};

}  // namespace slowpath::skeleton
