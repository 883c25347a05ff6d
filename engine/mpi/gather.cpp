// SPDX-License-Identifier: Apache-2.0
#include "mpi/gather.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

/// Counts are int in the calls used here (MPI-4.1 section 3.2.2).
constexpr std::size_t chunk_bytes = std::size_t{1} << 30;

void send_all(MPI_Comm communicator, std::span<const std::byte> mine) {
    const auto length = static_cast<std::int64_t>(mine.size());
    check(MPI_Send(&length, 1, MPI_INT64_T, 0, tag::gather, communicator), "MPI_Send");
    for (; !mine.empty(); mine = mine.subspan(std::min(chunk_bytes, mine.size())))
        check(MPI_Send(mine.data(), static_cast<int>(std::min(chunk_bytes, mine.size())), MPI_BYTE, 0,
                       tag::gather, communicator),
              "MPI_Send");
}

std::vector<std::byte> receive_all(MPI_Comm communicator, int rank) {
    std::int64_t length = 0;
    check(MPI_Recv(&length, 1, MPI_INT64_T, rank, tag::gather, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    for (std::span<std::byte> rest = bytes; !rest.empty();
         rest = rest.subspan(std::min(chunk_bytes, rest.size())))
        check(MPI_Recv(rest.data(), static_cast<int>(std::min(chunk_bytes, rest.size())), MPI_BYTE, rank,
                       tag::gather, communicator, MPI_STATUS_IGNORE),
              "MPI_Recv");
    return bytes;
}

}  // namespace

void gather(MPI_Comm communicator, std::span<const std::byte> mine,
            const std::function<void(int rank, std::span<const std::byte>)>& take) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    if (rank != 0) return send_all(communicator, mine);
    take(0, mine);
    for (int other = 1; other < size; ++other) take(other, receive_all(communicator, other));
}

}  // namespace slowpath::mpi
