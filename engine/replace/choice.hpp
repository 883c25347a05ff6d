// SPDX-License-Identifier: Apache-2.0
/// Which row of the table a call falls under.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>

#include "replace/table.hpp"

namespace slowpath::replace {

struct Counted {
    Row row;
    std::atomic<std::uint64_t> calls{0};
};

/// Filled once, before any call is replaced; only the counts change then.
class Choices {
  public:
    void take(const Table& table);
    void clear();
    bool has(mockups::Collective of) const { return first_[static_cast<std::size_t>(of)] != nullptr; }
    const std::deque<Counted>& rows() const { return rows_; }

    /// nullptr: the library's own call. The same on all ranks: it rests on the number of ranks, on what
    /// mockups::message_bytes says, the op and the root.
    Counted* choose(const mockups::Arguments& arguments);

  private:
    std::deque<Counted> rows_;
    std::array<Counted*, 22> first_{};  ///< of each collective
};

}  // namespace slowpath::replace
