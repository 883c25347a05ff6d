// SPDX-License-Identifier: Apache-2.0
/// A rank's box of points with a layer of ghost points around it, and its faces.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace slowpath::exchange {

/// A block of points of the array: x, y, z; the ghost layer is at 0 and at points + 1.
struct Region {
    std::array<std::int64_t, 3> begin;
    std::array<std::int64_t, 3> points;
    bool operator==(const Region&) const = default;
};

/// Points lie in one array, x fastest, then y, then z.
struct Box {
    std::array<std::int64_t, 3> points;  ///< without the ghost layer
    std::int64_t point_bytes;

    /// Extents of the array in points, with the ghost layer.
    std::array<std::int64_t, 3> array_points() const { return {points[0] + 2, points[1] + 2, points[2] + 2}; }
    std::int64_t array_bytes() const;
    /// A face without its edges to the ghost layer.
    std::int64_t face_bytes(int dimension) const;
    /// The outermost points of the box on this side: what is sent.
    Region inner_face(int dimension, bool upper) const;
    /// The ghost points next to them: what is received.
    Region ghost_face(int dimension, bool upper) const;

    /// Copy a region of the array into a buffer without gaps, and back.
    void pack(std::span<const std::byte> array, const Region& region, std::span<std::byte> to) const;
    void unpack(std::span<const std::byte> from, const Region& region, std::span<std::byte> array) const;

  private:
    template <class Copy>
    void for_each_row(const Region& region, Copy&& copy) const;
};

/// What differs between two spans of one length.
struct Difference {
    std::int64_t wrong_bytes = 0;
    std::optional<std::int64_t> first_wrong;
};
Difference compare(std::span<const std::byte> expected, std::span<const std::byte> got);

}  // namespace slowpath::exchange
