// SPDX-License-Identifier: Apache-2.0
/// Elements as they lie in memory, and the ops of users on them.
#pragma once

#include <mpi.h>

#include <cstdint>

#include "coll/parameters.hpp"

namespace slowpath::coll {

inline std::uint32_t number_of(std::uint8_t element) {
    return element;
}
inline std::uint32_t number_of(std::int32_t element) {
    return static_cast<std::uint32_t>(element);
}
inline std::uint32_t number_of(double element) {
    return static_cast<std::uint32_t>(element);
}

/// Functions x -> a x + b, a in the upper half of the bits: first the lower rank's, then the higher one's.
template <unsigned half_bits>
std::uint32_t composed(std::uint32_t lower, std::uint32_t higher) {
    constexpr std::uint32_t mask = (1U << half_bits) - 1;
    const std::uint32_t factor = (lower >> half_bits) * (higher >> half_bits);
    const std::uint32_t summand = (lower >> half_bits) * (higher & mask) + (lower & mask);
    return ((factor & mask) << half_bits) | (summand & mask);
}

/// The op itself, or MPI_SUM; freed with this.
class Operation {
  public:
    /// @param elements_a_unit How many elements one element of the derived type holds.  Only one Operation of
    /// a user is alive at a time.
    Operation(Element element, Op op, std::int64_t elements_a_unit);
    ~Operation();
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;

    MPI_Op get() const { return op_; }

  private:
    MPI_Op op_ = MPI_SUM;
    bool ours_;
};

}  // namespace slowpath::coll
