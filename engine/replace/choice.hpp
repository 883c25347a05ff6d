// SPDX-License-Identifier: Apache-2.0
/// Which row of the table a call falls under.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <new>
#include <vector>

#include "mockups/workspace.hpp"
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
    /// @param workspace The communicator's, where a mock-up is chosen.
    Counted* choose(const mockups::Arguments& arguments, mockups::Workspace*& workspace);
    /// Chooses, and calls the mock-up or `own`.
    template <class Own>
    int call(const mockups::Arguments& arguments, const Own& own);

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

/// Errors of the parts reach the communicator's error handler as those of the collective do: the parts are
/// called on that communicator, and what is sent on one of ours is raised on it (mockups/workspace.hpp).
template <class Own>
int Choices::call(const mockups::Arguments& arguments, const Own& own) {
    mockups::Workspace* workspace = nullptr;
    if (Counted* const row = choose(arguments, workspace)) {
        try {
            const int code = row->row.mockup->run(arguments, *workspace);
            mockups::release_long_memory();
            return code;
        } catch (const std::bad_alloc&) {
            return workspace->raised(MPI_ERR_NO_MEM);
        }
    }
    keep_window(arguments);
    return own();
}

}  // namespace slowpath::replace
