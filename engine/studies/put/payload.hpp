// SPDX-License-Identifier: Apache-2.0
/// What the memory of both ranks holds before bursts, and what it must hold after them, every byte of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "put/layout.hpp"

namespace slowpath::put {

/// Which memory: the origin's data, the target's part of the window, and what atomics take and give.
enum class Role { origin, target, results };

struct Difference {
    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::int64_t> first_wrong;  ///< index in the memory
};

class Payload {
  public:
    /// @param seed The same on both ranks; other bytes for each.
    Payload(const Config& config, const Layout& layout, std::uint64_t seed)
        : config_(config), layout_(layout), seed_(seed) {}

    /// Before any burst, [layout.bytes()].  Dense bit patterns; what will be overwritten holds the
    /// complement, so that every byte that does not come is wrong.  Sums get doubles or floats in [1, 2), all
    /// of whose digits count.
    std::vector<std::byte> before(Role role) const;
    /// After one burst of `puts` puts, or after many of them where the operation only copies.
    std::vector<std::byte> after(Role role, std::int64_t puts) const;

    /// Bytes that differ from after().
    Difference compare(Role role, std::int64_t puts, std::span<const std::byte> memory) const;

  private:
    const Config& config_;
    const Layout& layout_;
    std::uint64_t seed_;
};

/// A second burst leaves the memory as the first one did.
bool only_copies(Operation operation);

}  // namespace slowpath::put
