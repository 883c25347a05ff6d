// SPDX-License-Identifier: Apache-2.0
#include "nccl/mpi_calls.hpp"

#include <stdexcept>

#include "mpi/check.hpp"

namespace slowpath::nccl {
namespace {

constexpr int tag = 1;

void send(const Call& call, int count, const std::byte* from, std::byte* to, MPI_Comm communicator) {
    if (call.rank == 0)
        mpi::check(MPI_Send(from, count, MPI_FLOAT, 1, tag, communicator), "MPI_Send");
    else
        mpi::check(MPI_Recv(to, count, MPI_FLOAT, 0, tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
}

}  // namespace

void call_mpi(const Call& call, const std::byte* from, std::byte* to, MPI_Comm communicator) {
    const auto count = static_cast<int>(call.count);
    switch (call.operation) {
        case Operation::send:
            return send(call, count, from, to, communicator);
        case Operation::allreduce:
            return mpi::check(MPI_Allreduce(from, to, count, MPI_FLOAT, MPI_SUM, communicator),
                              "MPI_Allreduce");
        case Operation::bcast:
            return mpi::check(MPI_Bcast(call.rank == 0 ? const_cast<std::byte*>(from) : to, count, MPI_FLOAT,
                                        0, communicator),
                              "MPI_Bcast");
        case Operation::allgather:
            return mpi::check(MPI_Allgather(from, count, MPI_FLOAT, to, count, MPI_FLOAT, communicator),
                              "MPI_Allgather");
        case Operation::reduce_scatter:
            return mpi::check(MPI_Reduce_scatter_block(from, to, count, MPI_FLOAT, MPI_SUM, communicator),
                              "MPI_Reduce_scatter_block");
        case Operation::alltoall:
            return mpi::check(MPI_Alltoall(from, count, MPI_FLOAT, to, count, MPI_FLOAT, communicator),
                              "MPI_Alltoall");
    }
    throw std::logic_error("unknown operation");
}

MPI_Comm duplicate_of_world() {
    MPI_Comm made = MPI_COMM_NULL;
    mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &made), "MPI_Comm_dup");
    mpi::check(MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return made;
}

}  // namespace slowpath::nccl
