// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coll/parameters.hpp"
#include "coll/reference.hpp"
#include "mockups/mockups.hpp"

namespace slowpath::coll {

// Elements as they lie in memory, and the ops of users on them.

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

// Buffers, counts, types and op of one rank in a collective, and the judgement of what arrived.

/// Elements that differ from what they should be.
struct Judgement {
    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::string> first_wrong;
};

class Operands {
  public:
    /// @param place Of this rank.  @param seed Of the cell, the same on all ranks.
    /// @throws std::bad_alloc, mpi::Error.
    Operands(const Config& config, const Place& place, std::uint64_t seed);
    ~Operands();
    Operands(const Operands&) = delete;
    Operands& operator=(const Operands&) = delete;

    /// From now on calls are on this communicator of the same ranks.
    void use(MPI_Comm communicator) { arguments_.communicator = communicator; }
    const mockups::Arguments& arguments() const { return arguments_; }
    /// Displacements of MPI_Neighbor_alltoallw, bytes.
    const MPI_Aint* send_offsets() const { return offsets_.data(); }
    const MPI_Aint* receive_offsets() const { return offsets_.data(); }

    /// Numbers of content `number` into all that is sent, their complement where they are to arrive.
    void prepare(std::uint64_t number);
    /// Before each call: a buffer in place holds what this rank passes again, not the last result.
    void restore() {
        if (!saved_.empty()) put_back();
    }
    /// Compare with the content of the last prepare().  @param when For the reason, "after the first call".
    void compare(const char* when, Judgement& judgement);

  private:
    bool here_in_place() const;
    void set_buffers();
    void set_counts();
    void put_back();
    Numbers numbers(std::uint64_t number) const;

    Config config_;
    Place place_;
    std::uint64_t seed_;
    std::uint64_t content_ = 0;
    std::int64_t element_bytes_;
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
    std::vector<std::byte> send_, receive_, saved_, expected_;
    std::vector<int> counts_, displacements_;
    std::vector<MPI_Aint> offsets_;
    std::vector<MPI_Datatype> types_;
    Operation operation_;
    mockups::Arguments arguments_;
};

// What collectives are to this experiment: names, and what of the parameters they have.

}  // namespace slowpath::coll
