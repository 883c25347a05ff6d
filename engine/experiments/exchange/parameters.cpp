// SPDX-License-Identifier: Apache-2.0
#include "exchange/parameters.hpp"

#include <climits>
#include <string>

#include "core/error.hpp"

namespace slowpath::exchange {
namespace {

constexpr std::int64_t most_array_bytes = std::int64_t{8} << 30;
using enum ParameterType;
using enum ParameterRole;

Parameter points_along(std::string_view name, std::string_view default_value,
                       std::vector<std::string_view> words, std::string_view meaning) {
    return {
        .name = name,
        .type = count,
        .role = covariate,
        .unit = "points",
        .default_value = default_value,
        .minimum = "1",
        .maximum = "16384",
        .choices = std::move(words),
        .meaning = meaning,
    };
}

std::vector<Parameter> table() {
    return {
        {
            .name = "pattern",
            .type = choice,
            .role = setting,
            .default_value = "halo",
            .choices = {"halo"},
            .meaning =
                "each rank exchanges the faces of its box with its neighbours in a periodic grid of ranks",
        },
        points_along("box_x", "32", {}, "points of a rank's box in x, which is contiguous in memory"),
        points_along("box_y", "auto", {"auto"}, "points in y; auto: as box_x"),
        points_along("box_z", "auto", {"auto"}, "points in z; auto: as box_x"),
        {
            .name = "point_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "B",
            .default_value = "8",
            .minimum = "1",
            .maximum = "65536",
            .meaning = "length of a point",
        },
        {
            .name = "datatype",
            .type = choice,
            .role = setting,
            .default_value = "contiguous",
            .choices = {"contiguous", "packed", "derived"},
            .meaning = "faces packed before the timed region, copied into buffers and out of them inside it, "
                       "or MPI_Type_create_subarray",
        },
        {
            .name = "samples",
            .type = count,
            .role = effort,
            .unit = "samples",
            .default_value = "200",
            .minimum = "1",
            .maximum = "100000000",
            .meaning = "steady samples (batches) at most",
        },
        time_limit("time_limit_s", "0.1",
                   "steady state ends after about this time even with fewer samples (at least 8 are taken)"),
        time_limit("warmup_s", "0.01", "warm-up ends after about this time (at least 4 exchanges)"),
        {
            .name = "validate",
            .type = flag,
            .role = effort,
            .default_value = "on",
            .meaning = "compare what arrived byte for byte after the first exchange, after the last one and "
                       "after one more with new bytes; outside the timed region",
        },
    };
}

constexpr std::array metric_table{
    Metric{
        .name = "exchange_s",
        .unit = "s",
        .pattern = "halo",
        .meaning = "one exchange of all faces on the slowest rank, from the first MPI_Irecv to the end of "
                   "MPI_Waitall; datatype=packed: to the end of the copies after it",
        .definition = "longest sample of all ranks / batch",
    },
};

Datatype datatype_of(const std::string& word) {
    if (word == "packed") return Datatype::packed;
    return word == "derived" ? Datatype::derived : Datatype::contiguous;
}

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

std::span<const Parameter> parameters() {
    static const std::vector<Parameter> all = table();
    return all;
}

std::span<const Metric> metrics() {
    return metric_table;
}

Config configure(const Assignment& assignment) {
    const Config config{
        .box = {.points = {assignment.integer("box_x"), points_of(assignment, "box_y"),
                           points_of(assignment, "box_z")},
                .point_bytes = assignment.integer("point_bytes")},
        .datatype = datatype_of(assignment.text("datatype")),
        .samples = assignment.integer("samples"),
        .time_limit_s = assignment.seconds("time_limit_s"),
        .warmup_s = assignment.seconds("warmup_s"),
        .validate = assignment.flag("validate"),
    };
    check_box(config.box);
    return config;
}

}  // namespace slowpath::exchange
