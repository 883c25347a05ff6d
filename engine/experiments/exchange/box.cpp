// SPDX-License-Identifier: Apache-2.0
#include "exchange/box.hpp"

#include <algorithm>
#include <climits>
#include <cstring>
#include <set>
#include <string>

#include "core/error.hpp"

namespace slowpath::exchange {

namespace {

std::size_t index_of(std::int64_t number) {
    return static_cast<std::size_t>(number);
}

/// Rows of a face normal to x are single points: a copy of known length is a load and a store, as in the loop
/// of a program, and no call.
void copy_row(std::byte* to, const std::byte* from, std::size_t bytes) {
    if (bytes == 8)
        std::memcpy(to, from, 8);
    else if (bytes == 4)
        std::memcpy(to, from, 4);
    else
        std::memcpy(to, from, bytes);
}

}  // namespace

std::int64_t Box::array_bytes() const {
    const auto extents = array_points();
    return extents[0] * extents[1] * extents[2] * point_bytes;
}

std::int64_t Box::face_bytes(int dimension) const {
    std::int64_t bytes = point_bytes;
    for (int d = 0; d < 3; ++d)
        if (d != dimension) bytes *= points[index_of(d)];
    return bytes;
}

Region Box::inner_face(int dimension, bool upper) const {
    const std::size_t d = index_of(dimension);
    Region face{.begin = {1, 1, 1}, .points = points};
    face.begin[d] = upper ? points[d] : 1;
    face.points[d] = 1;
    return face;
}

Region Box::ghost_face(int dimension, bool upper) const {
    const std::size_t d = index_of(dimension);
    Region face = inner_face(dimension, upper);
    face.begin[d] += upper ? 1 : -1;
    return face;
}

/// copy(offset in the array, offset in the buffer, bytes)
template <class Copy>
void Box::for_each_row(const Region& region, Copy&& copy) const {
    const auto extents = array_points();
    const std::size_t row_bytes = index_of(region.points[0] * point_bytes);
    std::size_t packed = 0;
    for (std::int64_t z = region.begin[2]; z < region.begin[2] + region.points[2]; ++z)
        for (std::int64_t y = region.begin[1]; y < region.begin[1] + region.points[1]; ++y) {
            const std::int64_t point = (z * extents[1] + y) * extents[0] + region.begin[0];
            copy(index_of(point * point_bytes), packed, row_bytes);
            packed += row_bytes;
        }
}

void Box::pack(std::span<const std::byte> array, const Region& region, std::span<std::byte> to) const {
    for_each_row(region, [&](std::size_t at, std::size_t packed, std::size_t bytes) {
        copy_row(to.data() + packed, array.data() + at, bytes);
    });
}

void Box::unpack(std::span<const std::byte> from, const Region& region, std::span<std::byte> array) const {
    for_each_row(region, [&](std::size_t at, std::size_t packed, std::size_t bytes) {
        copy_row(array.data() + at, from.data() + packed, bytes);
    });
}

Difference compare(std::span<const std::byte> expected, std::span<const std::byte> got) {
    Difference found;
    if (std::equal(expected.begin(), expected.end(), got.begin(), got.end())) return found;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] == got[i]) continue;
        ++found.wrong_bytes;
        if (!found.first_wrong) found.first_wrong = static_cast<std::int64_t>(i);
    }
    return found;
}

namespace {

int rank_at(const Grid& grid, const std::array<int, 3>& place) {
    return (place[0] * grid[1] + place[1]) * grid[2] + place[2];
}

}  // namespace

std::vector<Neighbour> neighbours_of(const Grid& grid, int rank) {
    const std::array<int, 3> place{rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    std::vector<Neighbour> found;
    for (int dimension = 0; dimension < 3; ++dimension) {
        const auto d = static_cast<std::size_t>(dimension);
        if (grid[d] == 1) continue;
        for (const bool upper : {false, true}) {
            std::array<int, 3> next = place;
            next[d] = (place[d] + (upper ? 1 : grid[d] - 1)) % grid[d];
            found.push_back({dimension, upper, rank_at(grid, next)});
        }
    }
    return found;
}

int distinct_ranks(const std::vector<Neighbour>& neighbours) {
    std::set<int> ranks;
    for (const Neighbour& one : neighbours) ranks.insert(one.rank);
    return static_cast<int>(ranks.size());
}

namespace {

constexpr std::int64_t most_array_bytes = std::int64_t{8} << 30;
std::int64_t points_of(const Assignment& assignment, std::string_view name) {
    return assignment.integer(assignment.text(name) == "auto" ? "box_x" : name);
}

void check_box(const Box& box) {
    for (int dimension = 0; dimension < 3; ++dimension)
        if (box.face_bytes(dimension) > INT_MAX)
            throw UsageError("a face of " + std::to_string(box.face_bytes(dimension)) + " B is over " +
                             std::to_string(INT_MAX) +
                             " B, the most that one message holds; take a smaller box or point_bytes");
    // In points first: the product with the longest point overflows.
    const auto extents = box.array_points();
    const std::int64_t plane = extents[0] * extents[1];
    if (plane > most_array_bytes / extents[2] / box.point_bytes)
        throw UsageError("the box with its ghost layer is over " + std::to_string(most_array_bytes >> 30) +
                         " GiB on each rank; take a smaller box or point_bytes");
}

}  // namespace

Config configure(const Assignment& assignment) {
    const Config config{
        .box = {.points = {assignment.integer("box_x"), points_of(assignment, "box_y"),
                           points_of(assignment, "box_z")},
                .point_bytes = assignment.integer("point_bytes")},
        .datatype = assignment.chosen<Datatype>("datatype"),
        .samples = assignment.integer("samples"),
        .time_limit_s = assignment.seconds("time_limit_s"),
        .warmup_s = assignment.seconds("warmup_s"),
        .validate = assignment.flag("validate"),
    };
    check_box(config.box);
    return config;
}

}  // namespace slowpath::exchange
