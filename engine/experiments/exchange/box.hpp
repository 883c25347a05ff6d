// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::exchange {

// A rank's box of points with a layer of ghost points around it, and its faces.

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

// Ranks in a periodic grid of three dimensions, and who is next to whom.

/// Ranks in x, y and z; rank = (x * extents[1] + y) * extents[2] + z, as in MPI_Cart_create.
using Grid = std::array<int, 3>;

/// One of the two neighbours in a dimension.
struct Neighbour {
    int dimension;  ///< 0: x
    bool upper;     ///< the one after this rank; else the one before it
    int rank;
    bool operator==(const Neighbour&) const = default;
};

/// Two for each dimension with more than one rank, which may be the same rank twice; none in the others,
/// where a rank is next to itself.  By dimension, the lower one first.
std::vector<Neighbour> neighbours_of(const Grid& grid, int rank);

/// How many ranks they are.
int distinct_ranks(const std::vector<Neighbour>& neighbours);

// What a cell of the experiment exchange is given.

/// How a face becomes a message.
enum class Datatype {
    contiguous,  ///< it lies packed already: no copy at all
    packed,      ///< copied into a buffer and out of one, in the timed region
    derived,     ///< MPI_Type_create_subarray on the array
};

struct Config {
    Box box;
    Datatype datatype;
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: a face longer than MPI's int counts, or an array longer than 8 GiB.
Config configure(const Assignment& assignment);

}  // namespace slowpath::exchange
