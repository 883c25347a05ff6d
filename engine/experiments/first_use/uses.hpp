// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "experiment/context.hpp"
#include "first_use/first_use.hpp"
#include "record/witness.hpp"

namespace slowpath::first_use {

// From what was timed to blocks of the record: part 0 is a whole use, parts from 1 on are what it consists
// of.

struct Span {
    std::int64_t begin_ns;
    std::int64_t end_ns;
};

/// Blocks of one phase; a part without spans has no block.
/// @param seq0 Number of the first of them, from 0 on the first use.  @param kernel What the kernel did
/// during them.
void record_spans(Context& context, Phase phase, std::uint64_t part, std::int64_t seq0,
                  const std::vector<Span>& spans, const Witness& kernel = {});

/// What the kernel did during several stretches.
class KernelTotal {
  public:
    void add(const Witness& before, const Witness& after);
    const Witness& total() const { return total_; }

  private:
    Witness total_;
};

// One kind of use, done anew each time: what is timed, and what has to be done around it.

/// When the parts of one use ended, CLOCK_MONOTONIC; a use of one part sets none.
struct Marks {
    std::int64_t first_ns = 0;
    std::int64_t second_ns = 0;
};

class Use {
  public:
    Use() = default;
    virtual ~Use() = default;
    Use(const Use&) = delete;
    Use& operator=(const Use&) = delete;

    /// Parts of a use, numbered from 1 in the record; 0: it has none.
    virtual int parts() const { return 0; }
    /// Local.  @return Why it can't be done on this rank.
    virtual std::optional<std::string> obstacle() const { return std::nullopt; }
    /// Collective, not timed.
    virtual void prepare() {}
    /// Uses that one preparation is enough for, each timed; of the later uses.
    virtual int in_a_row() const { return 1; }
    /// Timed.  @return The first MPI error code that is not MPI_SUCCESS.
    virtual int use(Marks& marks) = 0;
    /// Collective where it can be, not timed.  @return Why the library refused the last use, on all ranks.
    virtual std::optional<std::string> refusal() const { return std::nullopt; }
    /// Timed apart: completes the request that the last use began.  @return When, if it began any.
    virtual std::optional<Span> complete() { return std::nullopt; }
    /// Collective, not timed: check what arrived, give back what is not to be kept.
    virtual void finish() {}

    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::string> first_wrong;

  protected:
    /// @param what "after call 3".
    void judge(std::int64_t compared, std::int64_t wrong, const std::string& what);
};

/// How messages are filled: number i of what `rank` sends in use `number`.
inline std::int64_t content(int rank, std::int64_t number, std::int64_t i) {
    return (rank + 1) * 1000003 + number * 7919 + i;
}

std::unique_ptr<Use> communicator_use(const Context& context, const Config& config);
std::unique_ptr<Use> window_use(const Context& context, const Config& config);
std::unique_ptr<Use> spawn_use(const Context& context, const Config& config);
std::unique_ptr<Use> call_use(const Context& context, const Config& config);

}  // namespace slowpath::first_use
