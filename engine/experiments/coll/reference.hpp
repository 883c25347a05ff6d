// SPDX-License-Identifier: Apache-2.0
/// What each rank passes to a collective and what it must get, element by element, worked out without MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "coll/parameters.hpp"

namespace slowpath::coll {

/// One rank's place in a collective; lengths in elements.
struct Place {
    Collective collective;
    int ranks;
    int rank;
    int root;
    std::int64_t count;          ///< of a block
    bool to_neighbours = false;  ///< alltoallv, alltoallw: blocks of and for other ranks are empty

    bool is_root() const { return rank == root; }
};

/// The ranks before and after this one in a ring, two on each side, each once: where the ranks are few they
/// are fewer than four.  Whoever is in this list has this rank in its own.
std::vector<int> neighbours_of(int ranks, int rank);

/// Elements of the buffer that this rank sends from; 0 for a bcast, whose buffer is the one received in.
std::int64_t sent_elements(const Place& place);
/// Elements of the buffer that this rank receives in; 0 where it is not significant.
std::int64_t received_elements(const Place& place);
/// Where in the buffer received in a rank's own data lies that passes MPI_IN_PLACE; in elements.
std::int64_t in_place_at(const Place& place);

/// `elements` elements of the buffer received in, from `at` on, are those from `index` on of the buffers sent
/// from: of rank `first`, or of ranks `first` to `last` put together by the op in this order.
struct Piece {
    std::int64_t at;
    std::int64_t elements;
    int first;
    int last;
    std::int64_t index;
};
/// What this rank must hold after the call; what no piece names is not defined.
std::vector<Piece> pieces(const Place& place);

/// How numbers become bytes.
struct Numbers {
    Element element;
    Op op;
    std::uint64_t seed;
};

/// The numbers of `rank` from `index` on, as it sends them.
void fill(std::span<std::byte> to, const Numbers& numbers, int rank, std::int64_t index);
/// What `piece` must look like; `to` has its length.
void expect(std::span<std::byte> to, const Numbers& numbers, const Piece& piece);

/// The op on single numbers.  user_ordered puts functions x -> a x + b after each other, modulo 2^16 (2^4 in
/// a byte): associative, not commutative, and exact in every type.
std::uint32_t combine(Element element, Op op, std::uint32_t lower_rank, std::uint32_t higher_rank);

}  // namespace slowpath::coll
