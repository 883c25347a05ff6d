// SPDX-License-Identifier: Apache-2.0
#include "exchange/parameters.hpp"

#include <climits>
#include <string>

#include "core/error.hpp"

namespace slowpath::exchange {
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
