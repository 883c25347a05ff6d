// SPDX-License-Identifier: Apache-2.0
#include "coll/reference.hpp"

#include <algorithm>

#include "coll/operands.hpp"
#include "core/pattern.hpp"

namespace slowpath::coll {
namespace {

using enum Collective;

std::int64_t degree(const Place& place) {
    return static_cast<std::int64_t>(neighbours_of(place.ranks, place.rank).size());
}

/// What this rank's numbers start from; each next one adds `stride`.
struct Sequence {
    std::uint32_t start;
    static constexpr std::uint32_t stride = 0x9e3779b1;  // 2^32 over the golden ratio: well spread
    std::uint32_t at(std::int64_t index) const { return start + static_cast<std::uint32_t>(index) * stride; }
};

Sequence sequence_of(const Numbers& numbers, int rank) {
    return {static_cast<std::uint32_t>(mix(numbers.seed, static_cast<std::uint64_t>(rank)))};
}

/// Sums of a million ranks' numbers of 20 bits are exact in a double, of 2000 in an int.
std::uint32_t as_element(const Numbers& numbers, std::uint32_t word) {
    if (numbers.element == Element::byte) {
        // Past 255 the standard has no sum: MPICH's go on from 0, Open MPI's may stop there.
        if (numbers.op == Op::sum) return word >> 31;
        const std::uint32_t byte = word >> 24;
        return numbers.op == Op::user_ordered ? byte | 0x10 : byte;
    }
    // An even factor would wipe out what came before it after few ranks.
    return numbers.op == Op::user_ordered ? word | 0x10000 : word >> 12;
}

template <class T>
void fill_as(std::span<std::byte> to, const Numbers& numbers, int rank, std::int64_t index) {
    const Sequence sequence = sequence_of(numbers, rank);
    auto* elements = reinterpret_cast<T*>(to.data());
    const auto count = static_cast<std::int64_t>(to.size() / sizeof(T));
    for (std::int64_t i = 0; i < count; ++i)
        elements[i] = static_cast<T>(as_element(numbers, sequence.at(index + i)));
}

template <class T>
void fold_as(std::span<std::byte> to, const Numbers& numbers, int rank, std::int64_t index) {
    const Sequence sequence = sequence_of(numbers, rank);
    auto* elements = reinterpret_cast<T*>(to.data());
    const auto count = static_cast<std::int64_t>(to.size() / sizeof(T));
    for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t more = as_element(numbers, sequence.at(index + i));
        if (numbers.op == Op::user_ordered)
            elements[i] = static_cast<T>(combine(numbers.element, numbers.op, number_of(elements[i]), more));
        else
            elements[i] = static_cast<T>(elements[i] + static_cast<T>(more));
    }
}

/// A block of this length from each rank, one after the other.
std::vector<Piece> from_each(const Place& place, std::int64_t index) {
    std::vector<Piece> all;
    for (int from = 0; from < place.ranks; ++from)
        all.push_back({from * place.count, place.count, from, from, index});
    return all;
}

std::vector<Piece> from_neighbours(const Place& place, bool own_block_each) {
    std::vector<Piece> all;
    for (const int from : neighbours_of(place.ranks, place.rank)) {
        const std::vector<int> theirs = neighbours_of(place.ranks, from);
        const auto mine = std::find(theirs.begin(), theirs.end(), place.rank) - theirs.begin();
        const auto at = static_cast<std::int64_t>(all.size()) * place.count;
        all.push_back({at, place.count, from, from, own_block_each ? mine * place.count : 0});
    }
    return all;
}

/// Those of from_each() that come from neighbours.
std::vector<Piece> from_neighbours_of_all(const Place& place, std::int64_t index) {
    std::vector<Piece> all;
    for (const int from : neighbours_of(place.ranks, place.rank))
        all.push_back({from * place.count, place.count, from, from, index});
    return all;
}

std::vector<Piece> folded(const Place& place, int last, std::int64_t index) {
    if (last < 0) return {};
    return {{0, place.count, 0, last, index}};
}

}  // namespace

std::vector<int> neighbours_of(int ranks, int rank) {
    std::vector<int> all;
    for (const int step : {-1, 1, -2, 2}) {
        const int other = ((rank + step) % ranks + ranks) % ranks;
        if (other != rank && std::find(all.begin(), all.end(), other) == all.end()) all.push_back(other);
    }
    return all;
}

std::int64_t sent_elements(const Place& place) {
    switch (place.collective) {
        case barrier:
        case bcast:
            return 0;
        case scatter:
        case scatterv:
            return place.is_root() ? place.ranks * place.count : 0;
        case alltoall:
        case alltoallv:
        case alltoallw:
        case reduce_scatter:
        case reduce_scatter_block:
            return place.ranks * place.count;
        case neighbor_alltoall:
        case neighbor_alltoallv:
        case neighbor_alltoallw:
            return degree(place) * place.count;
        default:
            return place.count;
    }
}

std::int64_t received_elements(const Place& place) {
    switch (place.collective) {
        case barrier:
            return 0;
        case gather:
        case gatherv:
            return place.is_root() ? place.ranks * place.count : 0;
        case reduce:
            return place.is_root() ? place.count : 0;
        case allgather:
        case allgatherv:
        case alltoall:
        case alltoallv:
        case alltoallw:
            return place.ranks * place.count;
        case neighbor_allgather:
        case neighbor_allgatherv:
        case neighbor_alltoall:
        case neighbor_alltoallv:
        case neighbor_alltoallw:
            return degree(place) * place.count;
        default:
            return place.count;
    }
}

std::int64_t in_place_at(const Place& place) {
    switch (place.collective) {
        case gather:
        case gatherv:
        case allgather:
        case allgatherv:
            return place.rank * place.count;
        default:
            return 0;
    }
}

std::vector<Piece> pieces(const Place& place) {
    const std::int64_t own = place.rank * place.count;
    switch (place.collective) {
        case barrier:
            return {};
        case bcast:
            return {{0, place.count, place.root, place.root, 0}};
        case gather:
        case gatherv:
            return place.is_root() ? from_each(place, 0) : std::vector<Piece>{};
        case scatter:
        case scatterv:
            return {{0, place.count, place.root, place.root, own}};
        case allgather:
        case allgatherv:
            return from_each(place, 0);
        case alltoall:
        case alltoallv:
        case alltoallw:
            return place.to_neighbours ? from_neighbours_of_all(place, own) : from_each(place, own);
        case reduce:
            return place.is_root() ? folded(place, place.ranks - 1, 0) : std::vector<Piece>{};
        case allreduce:
            return folded(place, place.ranks - 1, 0);
        case reduce_scatter:
        case reduce_scatter_block:
            return folded(place, place.ranks - 1, own);
        case scan:
            return folded(place, place.rank, 0);
        case exscan:
            return folded(place, place.rank - 1, 0);
        case neighbor_allgather:
        case neighbor_allgatherv:
            return from_neighbours(place, false);
        case neighbor_alltoall:
        case neighbor_alltoallv:
        case neighbor_alltoallw:
            return from_neighbours(place, true);
    }
    return {};
}

void fill(std::span<std::byte> to, const Numbers& numbers, int rank, std::int64_t index) {
    switch (numbers.element) {
        case Element::byte:
            return fill_as<std::uint8_t>(to, numbers, rank, index);
        case Element::integer:
            return fill_as<std::int32_t>(to, numbers, rank, index);
        case Element::real:
            return fill_as<double>(to, numbers, rank, index);
    }
}

void expect(std::span<std::byte> to, const Numbers& numbers, const Piece& piece) {
    fill(to, numbers, piece.first, piece.index);
    for (int rank = piece.first + 1; rank <= piece.last; ++rank) switch (numbers.element) {
            case Element::byte:
                fold_as<std::uint8_t>(to, numbers, rank, piece.index);
                break;
            case Element::integer:
                fold_as<std::int32_t>(to, numbers, rank, piece.index);
                break;
            case Element::real:
                fold_as<double>(to, numbers, rank, piece.index);
                break;
        }
}

std::uint32_t combine(Element element, Op op, std::uint32_t lower_rank, std::uint32_t higher_rank) {
    if (op != Op::user_ordered)
        return element == Element::byte ? (lower_rank + higher_rank) & 0xff : lower_rank + higher_rank;
    return element == Element::byte ? composed<4>(lower_rank, higher_rank)
                                    : composed<16>(lower_rank, higher_rank);
}

}  // namespace slowpath::coll
