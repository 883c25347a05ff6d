// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "put/parameters.hpp"

namespace slowpath::put {

// Slots: where each put of a burst reads and writes, alike at the origin and at the target.

struct Layout {
    Shape shape;         ///< of the origin's side
    Shape target_shape;  ///< of the target's side
    std::int64_t count;  ///< elements of a put
    std::int64_t
        slot_bytes;      ///< from one slot to the next, a power of two: a place is a shift and a mask away
    std::int64_t slots;  ///< a power of two
    std::vector<std::uint32_t> shuffled;  ///< a permutation of the slots, for Order::random

    std::uint64_t mask() const { return static_cast<std::uint64_t>(slots) - 1; }
    /// Slots and, behind the last one, bytes that no put may touch.
    std::size_t bytes() const { return static_cast<std::size_t>(slots * slot_bytes) + guard_bytes; }

    static constexpr std::size_t guard_bytes = 64;
};

/// Slots for 4 KiB, which stay in a first-level cache; 64 of them at least, for 64 MiB at most.
Layout layout_of(const Config& config);

/// How often one burst hits each slot.
/// @return [slots].
std::vector<std::int64_t> hits_of(const Layout& layout, layers::Order order, std::int64_t puts);

// What the memory of both ranks holds before bursts, and what it must hold after them, every byte of it.

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

// Datatypes made from a shape: MPI's, and the layers'.

/// Committed; freed at the end.
class MpiType {
  public:
    /// @throws mpi::Error.
    explicit MpiType(const Shape& shape);
    ~MpiType();
    MpiType(const MpiType&) = delete;
    MpiType& operator=(const MpiType&) = delete;
    MPI_Datatype handle() const { return type_; }

  private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    bool derived_ = false;
};

class LayerType {
  public:
    explicit LayerType(const Shape& shape);
    ~LayerType();
    LayerType(const LayerType&) = delete;
    LayerType& operator=(const LayerType&) = delete;
    layers::Datatype handle() const { return type_; }

  private:
    layers::Datatype type_ = layers::Datatype::null;
    bool derived_ = false;
};

}  // namespace slowpath::put
