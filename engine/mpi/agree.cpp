// SPDX-License-Identifier: Apache-2.0
#include "mpi/agree.hpp"

#include "mpi/check.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

std::string broadcast(MPI_Comm communicator, std::string text, int root) {
    int length = static_cast<int>(text.size());
    check(MPI_Bcast(&length, 1, MPI_INT, root, communicator), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(MPI_Bcast(text.data(), length, MPI_CHAR, root, communicator), "MPI_Bcast");
    return text;
}

}  // namespace

std::optional<std::string> first_text(MPI_Comm communicator, const std::optional<std::string>& mine) {
    int rank = 0, size = 0, first = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const int candidate = mine ? rank : size;
    check(MPI_Allreduce(&candidate, &first, 1, MPI_INT, MPI_MIN, communicator), "MPI_Allreduce");
    if (first == size) return std::nullopt;
    return broadcast(communicator, mine.value_or(""), first);
}

std::string text_of_root(MPI_Comm communicator, std::string text) {
    return broadcast(communicator, std::move(text), 0);
}

std::vector<std::int64_t> reduce(MPI_Comm communicator, std::span<const std::int64_t> mine,
                                 MPI_Op operation) {
    std::vector<std::int64_t> all(mine.size());
    check(MPI_Allreduce(mine.data(), all.data(), static_cast<int>(mine.size()), MPI_INT64_T, operation,
                        communicator),
          "MPI_Allreduce");
    return all;
}

std::int64_t decision_of_first(MPI_Comm communicator, std::span<const int> ranks, std::int64_t mine) {
    int rank = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    if (rank != ranks[0]) {
        check(MPI_Recv(&mine, 1, MPI_INT64_T, ranks[0], tag::decision, communicator, MPI_STATUS_IGNORE),
              "MPI_Recv");
        return mine;
    }
    for (const int other : ranks.subspan(1))
        check(MPI_Send(&mine, 1, MPI_INT64_T, other, tag::decision, communicator), "MPI_Send");
    return mine;
}

}  // namespace slowpath::mpi
