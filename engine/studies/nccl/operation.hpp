// SPDX-License-Identifier: Apache-2.0
/// What is called: elements sent and received, and what must be there afterwards.  Elements are floats.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace slowpath::nccl {

inline constexpr std::int64_t element_bytes = 4;

enum class Operation { send, allreduce, bcast, allgather, reduce_scatter, alltoall };

/// @throws std::out_of_range: a word that the parameter's table does not have.
Operation operation_from(std::string_view word);

/// One call of `ranks` ranks with `count` elements: a message of send and bcast, what a rank gives to
/// allreduce, the block of a rank in the others.
struct Call {
    Operation operation;
    std::int64_t count;
    int ranks;
    int rank;  ///< this one

    /// Elements that the send buffer holds; 0: this rank gives nothing.
    std::int64_t sent() const;
    /// Elements that the receive buffer holds; 0: this rank gets nothing.
    std::int64_t received() const;
    /// Whether this rank does anything at all: send is of rank 0 and 1 alone.
    bool takes_part() const { return operation != Operation::send || rank < 2; }
    /// Whether the library adds numbers up, and does not only move them.
    bool reduces() const {
        return operation == Operation::allreduce || operation == Operation::reduce_scatter;
    }
};

/// Element `at` of what `rank` gives; small integers, so that sums are exact in any order.
float given(int rank, std::int64_t at, std::uint32_t salt);

/// Element `at` of what this rank must have got.
float expected(const Call& call, std::int64_t at, std::uint32_t salt);

}  // namespace slowpath::nccl
