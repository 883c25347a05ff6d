// SPDX-License-Identifier: Apache-2.0
#include "mpi/gather.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "mpi/check.hpp"
#include "mpi/nodes.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {
namespace {

/// Counts are int in the calls used here (MPI-4.1 section 3.2.2).
constexpr std::size_t chunk_bytes = std::size_t{1} << 30;

void send_all(MPI_Comm communicator, std::span<const std::byte> mine) {
    for (; !mine.empty(); mine = mine.subspan(std::min(chunk_bytes, mine.size())))
        check(MPI_Send(mine.data(), static_cast<int>(std::min(chunk_bytes, mine.size())), MPI_BYTE, 0,
                       tag::gather, communicator),
              "MPI_Send");
}

std::vector<std::byte> receive_all(MPI_Comm communicator, int rank, std::int64_t length) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(length));
    for (std::span<std::byte> rest = bytes; !rest.empty();
         rest = rest.subspan(std::min(chunk_bytes, rest.size())))
        check(MPI_Recv(rest.data(), static_cast<int>(std::min(chunk_bytes, rest.size())), MPI_BYTE, rank,
                       tag::gather, communicator, MPI_STATUS_IGNORE),
              "MPI_Recv");
    return bytes;
}

/// The lengths of this node's ranks on its leader.
std::vector<std::int64_t> lengths_of_node(const Nodes& nodes, std::int64_t mine) {
    std::vector<std::int64_t> lengths(nodes.members().size());
    check(MPI_Gather(&mine, 1, MPI_INT64_T, lengths.data(), 1, MPI_INT64_T, 0, nodes.node()), "MPI_Gather");
    return lengths;
}

/// The lengths of all ranks on rank 0, node by node.
std::vector<std::int64_t> lengths_of_all(const Nodes& nodes, const std::vector<std::int64_t>& of_node) {
    std::vector<std::int64_t> lengths(nodes.ranks().size());
    std::vector<int> places(nodes.counts().size());
    std::exclusive_scan(nodes.counts().begin(), nodes.counts().end(), places.begin(), 0);
    check(MPI_Gatherv(of_node.data(), static_cast<int>(of_node.size()), MPI_INT64_T, lengths.data(),
                      nodes.counts().data(), places.data(), MPI_INT64_T, 0, nodes.leaders()),
          "MPI_Gatherv");
    return lengths;
}

/// What rank 0 of the node's communicator has of its i-th rank.
std::vector<std::byte> of_member(const Nodes& nodes, std::size_t i, std::int64_t length,
                                 std::span<const std::byte> mine) {
    if (i == 0) return {mine.begin(), mine.end()};
    return receive_all(nodes.node(), static_cast<int>(i), length);
}

}  // namespace

void gather(MPI_Comm communicator, std::span<const std::byte> mine,
            const std::function<void(int rank, std::span<const std::byte>)>& take) {
    const Nodes& nodes = Nodes::of(communicator);
    const std::vector<std::int64_t> of_node = lengths_of_node(nodes, static_cast<std::int64_t>(mine.size()));
    if (!nodes.leads()) return send_all(nodes.node(), mine);
    const std::vector<std::int64_t> lengths = lengths_of_all(nodes, of_node);
    if (nodes.ranks().empty()) {  // this rank leads another node than rank 0's
        for (std::size_t i = 0; i < of_node.size(); ++i)
            send_all(nodes.leaders(), of_member(nodes, i, of_node[i], mine));
        return;
    }
    std::size_t next = 0;
    for (std::size_t node = 0; node < nodes.counts().size(); ++node)
        for (int i = 0; i < nodes.counts()[node]; ++i, ++next)
            take(nodes.ranks()[next],
                 node == 0 ? of_member(nodes, static_cast<std::size_t>(i), lengths[next], mine)
                           : receive_all(nodes.leaders(), static_cast<int>(node), lengths[next]));
}

}  // namespace slowpath::mpi
