// SPDX-License-Identifier: Apache-2.0
#include "exchange/box.hpp"

#include <algorithm>
#include <cstring>

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

}  // namespace slowpath::exchange
