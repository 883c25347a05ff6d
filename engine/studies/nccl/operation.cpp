// SPDX-License-Identifier: Apache-2.0
#include "nccl/operation.hpp"

#include <array>
#include <stdexcept>
#include <utility>

namespace slowpath::nccl {
namespace {

constexpr std::array<std::pair<std::string_view, Operation>, 6> words{{
    {"send", Operation::send},
    {"allreduce", Operation::allreduce},
    {"bcast", Operation::bcast},
    {"allgather", Operation::allgather},
    {"reduce_scatter", Operation::reduce_scatter},
    {"alltoall", Operation::alltoall},
}};

float sum_of(const Call& call, std::int64_t at, std::uint32_t salt) {
    float sum = 0;
    for (int rank = 0; rank < call.ranks; ++rank) sum += given(rank, at, salt);
    return sum;
}

}  // namespace

Operation operation_from(std::string_view word) {
    for (const auto& [name, operation] : words)
        if (name == word) return operation;
    throw std::out_of_range("operation");
}

std::int64_t Call::sent() const {
    switch (operation) {
        case Operation::send:
        case Operation::bcast:
            return rank == 0 ? count : 0;
        case Operation::allreduce:
        case Operation::allgather:
            return count;
        case Operation::reduce_scatter:
        case Operation::alltoall:
            return count * ranks;
    }
    throw std::logic_error("unknown operation");
}

std::int64_t Call::received() const {
    switch (operation) {
        case Operation::send:
            return rank == 1 ? count : 0;
        case Operation::bcast:
            return rank == 0 ? 0 : count;
        case Operation::allreduce:
        case Operation::reduce_scatter:
            return count;
        case Operation::allgather:
        case Operation::alltoall:
            return count * ranks;
    }
    throw std::logic_error("unknown operation");
}

float given(int rank, std::int64_t at, std::uint32_t salt) {
    const auto mixed =
        static_cast<std::uint64_t>(at) * 7 + salt * 31ULL + static_cast<std::uint64_t>(rank) * 13;
    return static_cast<float>(mixed % 251);
}

float expected(const Call& call, std::int64_t at, std::uint32_t salt) {
    const auto from = static_cast<int>(at / call.count);
    const std::int64_t within = at % call.count;
    switch (call.operation) {
        case Operation::send:
        case Operation::bcast:
            return given(0, at, salt);
        case Operation::allreduce:
            return sum_of(call, at, salt);
        case Operation::reduce_scatter:
            return sum_of(call, call.rank * call.count + at, salt);
        case Operation::allgather:
            return given(from, within, salt);
        case Operation::alltoall:
            return given(from, call.rank * call.count + within, salt);
    }
    throw std::logic_error("unknown operation");
}

}  // namespace slowpath::nccl
