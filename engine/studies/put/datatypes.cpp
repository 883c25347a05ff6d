// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/pattern.hpp"
#include "mpi/session.hpp"
#include "put/order.hpp"
#include "put/payload.hpp"

namespace slowpath::put {

namespace {

MPI_Datatype mpi_basic(Basic basic) {
    switch (basic) {
        case Basic::float64:
            return MPI_DOUBLE;
        case Basic::int32:
            return MPI_INT;
        case Basic::float32:
            return MPI_FLOAT;
        case Basic::int64:
            return MPI_INT64_T;
    }
    throw std::logic_error("unknown basic type");
}

layers::Datatype layer_basic(Basic basic) {
    return bytes_of(basic) == 4 ? layers::Datatype::bytes_4 : layers::Datatype::bytes_8;
}

/// Where the fields stand, in basic elements of their one type.
template <class Integer>
std::array<Integer, 2> displacements(const Shape& shape) {
    const std::int64_t length = bytes_of(shape.fields[0].basic);
    return {static_cast<Integer>(shape.fields[0].offset_bytes / length),
            static_cast<Integer>(shape.fields[1].offset_bytes / length)};
}

constexpr std::array ones_int{1, 1};
constexpr std::array<std::int64_t, 2> ones{1, 1};

MPI_Datatype mpi_struct(const Shape& shape) {
    const std::array<MPI_Aint, 2> offsets{static_cast<MPI_Aint>(shape.fields[0].offset_bytes),
                                          static_cast<MPI_Aint>(shape.fields[1].offset_bytes)};
    const std::array types{mpi_basic(shape.fields[0].basic), mpi_basic(shape.fields[1].basic)};
    MPI_Datatype made = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_create_struct(2, ones_int.data(), offsets.data(), types.data(), &made),
               "MPI_Type_create_struct");
    return made;
}

MPI_Datatype mpi_derived(const Shape& shape) {
    if (shape.kind == DatatypeKind::contiguous) return mpi_struct(shape);
    const MPI_Datatype basic = mpi_basic(shape.fields[0].basic);
    const std::array<int, 2> at = displacements<int>(shape);
    MPI_Datatype made = MPI_DATATYPE_NULL;
    if (shape.kind == DatatypeKind::vector)
        mpi::check(MPI_Type_vector(2, 1, at[1] - at[0], basic, &made), "MPI_Type_vector");
    else
        mpi::check(MPI_Type_indexed(2, ones_int.data(), at.data(), basic, &made), "MPI_Type_indexed");
    return made;
}

layers::Datatype layer_derived(const Shape& shape) {
    const layers::Datatype basic = layer_basic(shape.fields[0].basic);
    const std::array<std::int64_t, 2> at = displacements<std::int64_t>(shape);
    if (shape.kind == DatatypeKind::vector) return layers::vector(2, 1, at[1] - at[0], basic);
    if (shape.kind == DatatypeKind::indexed) return layers::indexed(ones, at, basic);
    const std::array offsets{shape.fields[0].offset_bytes, shape.fields[1].offset_bytes};
    const std::array types{layer_basic(shape.fields[0].basic), layer_basic(shape.fields[1].basic)};
    return layers::structure(ones, offsets, types);
}

bool is_predefined(const Shape& shape) {
    return shape.kind == DatatypeKind::predefined || shape.kind == DatatypeKind::large_count;
}

}  // namespace

MpiType::MpiType(const Shape& shape) : derived_(!is_predefined(shape)) {
    type_ = derived_ ? mpi_derived(shape) : mpi_basic(shape.fields[0].basic);
    if (derived_) mpi::check(MPI_Type_commit(&type_), "MPI_Type_commit");
}

MpiType::~MpiType() {
    if (derived_) MPI_Type_free(&type_);
}

LayerType::LayerType(const Shape& shape) : derived_(!is_predefined(shape)) {
    type_ = derived_ ? layer_derived(shape) : layer_basic(shape.fields[0].basic);
    if (derived_) layers::commit(type_);
}

LayerType::~LayerType() {
    if (derived_) layers::free(type_);
}

namespace {

std::int64_t power_of_two(std::int64_t least) {
    return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(least)));
}

/// Fisher and Yates's shuffle, the same in every launch: it is part of the cell, not of the chance.
std::vector<std::uint32_t> permutation(std::int64_t slots) {
    std::vector<std::uint32_t> made(static_cast<std::size_t>(slots));
    std::iota(made.begin(), made.end(), 0U);
    for (std::size_t i = made.size(); i > 1; --i) std::swap(made[i - 1], made[mix(1, i) % i]);
    return made;
}

}  // namespace

Layout layout_of(const Config& config) {
    constexpr std::int64_t cached_bytes = 4096, fewest = 64, most_bytes = std::int64_t{64} << 20;
    Layout layout{.shape = shape_of(config),
                  .target_shape = target_shape_of(config),
                  .count = config.message_bytes / element_bytes,
                  .slot_bytes = 0,
                  .slots = 0,
                  .shuffled = {}};
    const auto span_bytes_of = [&](const Shape& shape) {
        return (layout.count - 1) * shape.extent_bytes + shape.end_bytes();
    };
    const std::int64_t span_bytes = std::max(span_bytes_of(layout.shape), span_bytes_of(layout.target_shape));
    layout.slot_bytes = power_of_two(std::max(span_bytes, element_bytes));
    const std::int64_t wanted = std::max(fewest, cached_bytes / layout.slot_bytes);
    const std::int64_t room = std::max<std::int64_t>(1, most_bytes / layout.slot_bytes);
    layout.slots = std::min(wanted, room);
    layout.shuffled = permutation(layout.slots);
    return layout;
}

std::vector<std::int64_t> hits_of(const Layout& layout, layers::Order order, std::int64_t puts) {
    std::vector<std::int64_t> hits(static_cast<std::size_t>(layout.slots));
    const SlotOf slot_of{layout.mask(), line_step(layout.slot_bytes), layout.shuffled.data()};
    for (std::int64_t i = 0; i < puts; ++i) {
        const auto number = static_cast<std::uint64_t>(i);
        switch (order) {
            case layers::Order::same:
                ++hits[slot_of.at<layers::Order::same>(number)];
                break;
            case layers::Order::sequential:
                ++hits[slot_of.at<layers::Order::sequential>(number)];
                break;
            case layers::Order::line:
                ++hits[slot_of.at<layers::Order::line>(number)];
                break;
            case layers::Order::random:
                ++hits[slot_of.at<layers::Order::random>(number)];
                break;
        }
    }
    return hits;
}

}  // namespace slowpath::put
