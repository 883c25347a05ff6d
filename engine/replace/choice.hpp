// SPDX-License-Identifier: Apache-2.0
/// Which row of the table a call falls under.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "replace/parts.hpp"
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
    bool has(mockups::Collective of) const { return first_[place(of)] != nullptr; }
    const std::deque<Counted>& rows() const { return rows_; }

    /// nullptr: the library's own call. The same on all ranks: it rests on the number of ranks, on what
    /// mockups::message_bytes says, the op and the root.
    Counted* choose(const mockups::Arguments& arguments);

    /// Where the window of a collective's last datatype is kept for the library in front.
    void keep_window_at(mockups::Collective of, LastWindow* last) { last_[place(of)] = last; }
    /// After a call that is the library's own: calls alike need not be looked at again.
    void keep_window(const mockups::Arguments& arguments);

  private:
    static std::size_t place(mockups::Collective of) { return static_cast<std::size_t>(of); }

    std::deque<Counted> rows_;
    std::array<Counted*, 22> first_{};  ///< of each collective
    std::array<LastWindow*, 22> last_{};
    std::array<std::vector<Window>, 22> windows_{};  ///< of predefined datatypes, whose handles never change
};

}  // namespace slowpath::replace
