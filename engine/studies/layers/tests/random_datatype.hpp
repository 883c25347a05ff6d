// SPDX-License-Identifier: Apache-2.0
/// One datatype made by the layers and by MPI, of the same random steps.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "layers/datatype.hpp"

namespace slowpath::layers::test {

/// Uniform whole numbers, the same with any C++ library (std::uniform_int_distribution is not).
class Random {
  public:
    explicit Random(std::uint64_t seed) : engine_(seed) {}
    std::int64_t between(std::int64_t low, std::int64_t high) {
        return low + static_cast<std::int64_t>(engine_() % static_cast<std::uint64_t>(high - low + 1));
    }
    bool one_in(std::int64_t n) { return between(1, n) == 1; }

  private:
    std::mt19937_64 engine_;
};

/// The third way, the definition of MPI-4.1 section 5.1.2 taken literally, says who is right where two
/// differ.
struct Pair {
    Datatype ours = Datatype::null;
    MPI_Datatype theirs = MPI_DATATYPE_NULL;
    std::vector<std::int64_t> map;  ///< offset of each byte of an element, in the order of the data
    std::string made;               ///< "vector(2, 1, 3, bytes_4)"

    /// Append `length` elements of `old` to the map, the first at `displacement_bytes`.
    void append(std::int64_t length, std::int64_t displacement_bytes, const Pair& old);
    std::int64_t extent_bytes() const;  ///< as MPI has it
};

/// Made of random constructors, up to this deep; an element's data is 1 to `most_bytes` bytes long, and no
/// two of them overlap when `disjoint` (a target's must not).
/// @return Not committed. To be freed by free_pair.
Pair random_datatype(Random& random, int depth, std::int64_t most_bytes, bool disjoint);

void commit_pair(Pair& pair);
void free_pair(Pair& pair);

/// Bounds of the two that differed and were made equal by resizing both: MPI libraries do not pad all derived
/// datatypes to their alignment, nor keep a resized part's bounds, as MPI-4.1 section 5.1.6 has it.
inline int bounds_that_differed = 0;
inline int bounds_that_agreed = 0;

}  // namespace slowpath::layers::test
