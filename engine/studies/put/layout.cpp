// SPDX-License-Identifier: Apache-2.0
#include "put/layout.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include "core/pattern.hpp"
#include "put/order.hpp"

namespace slowpath::put {
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
