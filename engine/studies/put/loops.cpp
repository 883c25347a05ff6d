// SPDX-License-Identifier: Apache-2.0
#include "put/loops.hpp"

#include <array>

namespace slowpath::put {
namespace {

template <class Operation, layers::Order order>
int run_puts(const MpiBurst& burst) {
    const MpiBurst b = burst;  // so that no call can change what the loop reads
    for (std::int64_t i = 0; i < b.puts; ++i) {
        const auto slot = static_cast<std::int64_t>(b.slot_of.at<order>(static_cast<std::uint64_t>(i)));
        const std::int64_t offset_bytes = slot * b.slot_bytes;
        const Slot arguments{b.memory.data + offset_bytes, b.memory.results + offset_bytes,
                             b.memory.comparands + offset_bytes,
                             b.first_displacement + slot * b.slot_displacements};
        if (const int code = Operation::call(b, arguments, i); code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

template <class Operation>
PutsLoop in_order(layers::Order order) {
    using enum layers::Order;
    constexpr std::array<PutsLoop, layers::orders> loops{
        run_puts<Operation, same>, run_puts<Operation, sequential>, run_puts<Operation, line>,
        run_puts<Operation, random>};
    return loops[static_cast<std::size_t>(order)];
}

Loop large_loop_for([[maybe_unused]] const Config& config) {
#ifdef SLOWPATH_HAVE_RMA_COUNT
    if (!mpi::is_there(MPI_Put_c) || !mpi::is_there(MPI_Rput_c)) return {nullptr, "MPI_Put_c"};
    switch (config.operation) {
        case Operation::put:
            return {in_order<operation::LargePut>(config.order), "MPI_Put_c"};
        case Operation::get:
            return {in_order<operation::LargeGet>(config.order), "MPI_Get_c"};
        case Operation::accumulate:
            return {in_order<operation::LargeAccumulate>(config.order), "MPI_Accumulate_c"};
        case Operation::rput:
            return {in_order<operation::LargeRput>(config.order), "MPI_Rput_c"};
        case Operation::fetch_and_op:
        case Operation::compare_and_swap:
            break;  // one element: refused beforehand
    }
#endif
    return {nullptr, "MPI_Put_c"};
}

}  // namespace

Loop loop_for(const Config& config) {
    if (config.datatype == DatatypeKind::large_count) return large_loop_for(config);
    if (config.two_datatypes()) return {in_order<operation::PutAcross>(config.order), "MPI_Put"};
    switch (config.operation) {
        case Operation::put:
            return {in_order<operation::Put>(config.order), "MPI_Put"};
        case Operation::get:
            return {in_order<operation::Get>(config.order), "MPI_Get"};
        case Operation::accumulate:
            return {in_order<operation::Accumulate>(config.order), "MPI_Accumulate"};
        case Operation::fetch_and_op:
            return {in_order<operation::FetchAndOp>(config.order), "MPI_Fetch_and_op"};
        case Operation::compare_and_swap:
            return {in_order<operation::CompareAndSwap>(config.order), "MPI_Compare_and_swap"};
        case Operation::rput:
            return {in_order<operation::Rput>(config.order), "MPI_Rput"};
    }
    throw std::logic_error("unknown operation");
}

}  // namespace slowpath::put
