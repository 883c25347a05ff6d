// SPDX-License-Identifier: Apache-2.0
/// A design with its memory, ready to run bursts: what the measurement knows of MPI, layers and OpenSHMEM.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "put/pair.hpp"
#include "put/payload.hpp"

namespace slowpath::put {

/// The origin's own memory, [layout.bytes()] each.
struct OriginMemory {
    std::byte* data;        ///< what is put; what a get fills
    std::byte* results;     ///< fetch_and_op, compare_and_swap: slot for slot what they found
    std::byte* comparands;  ///< compare_and_swap: slot for slot what they compare with
};

/// Codes are 0 for success; error_text() says what any other means.
class Runner {
  public:
    virtual ~Runner() = default;

    /// This rank's part of the window, [layout.bytes()].
    virtual std::span<std::byte> memory() = 0;
    /// Read or write that part, outside of an epoch, in the way that the memory model allows.
    virtual void access(const std::function<void()>& body) { body(); }

    /// Both ranks, before bursts; after it the origin may run some.
    virtual int begin_epoch() = 0;
    /// Both ranks, after all bursts.
    virtual int end_epoch() = 0;

    /// Origin: whole bursts, one after the other: open, puts, close.  A burst whose puts fail is closed all
    /// the same.
    /// @return The first code that is not 0.
    virtual int run(std::int64_t bursts) = 0;
    /// Origin: the three parts of a burst.
    virtual int open() { return 0; }
    virtual int puts() = 0;
    virtual int close() = 0;
    /// open() does something, so that it belongs to the time of the synchronisation.
    virtual bool opens() const { return false; }
    /// A put is a call that leaves the program; else all of it stands in the loop, and so do its
    /// instructions.
    virtual bool puts_are_calls() const { return true; }
    /// Puts of a burst from now on; 0 is allowed.
    virtual void set_puts(std::int64_t puts) = 0;

    /// Target: its part of so many bursts.  @return The first code that is not 0.
    virtual int serve([[maybe_unused]] std::int64_t bursts) { return 0; }

    /// Fields of a note for the record; "" for none.
    virtual std::string note() const { return ""; }
    /// "MPI_Put or MPI_Win_flush: ..."
    virtual std::string error_text(int code) const = 0;
    /// Collective over both ranks: give the memory back.  Not called when an error is on its way.
    virtual void release() = 0;
};

/// What a rank got: a runner, or why there is none.
struct Made {
    std::unique_ptr<Runner> runner;
    std::optional<std::string> failure;
};

/// Collective over both ranks.  Nothing is thrown where the library refuses: both ranks must hear of it.
Made make_runner(const Config& config, const Layout& layout, const Pair& pair, const OriginMemory& origin);

}  // namespace slowpath::put
