// SPDX-License-Identifier: Apache-2.0
#include "mpi/together.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "mpi/session.hpp"
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

namespace {

constexpr int eager_tests = 200;

}  // namespace

Barrier::Barrier(MPI_Comm communicator, std::vector<int> ranks) : communicator_(communicator) {
    int rank = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    const auto mine = std::find(ranks.begin(), ranks.end(), rank);
    if (mine == ranks.end()) return;
    const auto count = ranks.size();
    const auto index = static_cast<std::size_t>(mine - ranks.begin());
    for (std::size_t distance = 1; distance < count; distance *= 2)
        rounds_.push_back({ranks[(index + distance) % count], ranks[(index + count - distance) % count]});
}

void Barrier::wait() const {
    // One tag does: messages between two ranks don't overtake each other (MPI-4.1 section 3.5).
    for (const Round& round : rounds_)
        check(MPI_Sendrecv(nullptr, 0, MPI_BYTE, round.to, tag::barrier, nullptr, 0, MPI_BYTE, round.from,
                           tag::barrier, communicator_, MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
}

void Barrier::wait(std::span<std::int64_t> highest) const {
    std::array<std::int64_t, most_numbers> theirs{};
    const auto count = static_cast<int>(highest.size());
    for (const Round& round : rounds_) {
        std::array<MPI_Request, 2> both{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        check(MPI_Irecv(theirs.data(), count, MPI_INT64_T, round.from, tag::barrier, communicator_, &both[0]),
              "MPI_Irecv");
        check(MPI_Isend(highest.data(), count, MPI_INT64_T, round.to, tag::barrier, communicator_, &both[1]),
              "MPI_Isend");
        // Not every library gives its core away while it waits.
        int done = 0;
        for (int i = 0; done == 0; ++i) {
            check(MPI_Testall(2, both.data(), &done, MPI_STATUSES_IGNORE), "MPI_Testall");
            if (done == 0 && i >= eager_tests) sched_yield();
        }
        std::transform(highest.begin(), highest.end(), theirs.begin(), highest.begin(),
                       [](std::int64_t a, std::int64_t b) { return std::max(a, b); });
    }
}

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

namespace {

int forget(MPI_Comm, int, void* nodes, void*) {
    delete static_cast<Nodes*>(nodes);
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        int value = MPI_KEYVAL_INVALID;
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr),
              "MPI_Comm_create_keyval");
        return value;
    }();
    return made;
}

}  // namespace

const Nodes& Nodes::of(MPI_Comm communicator) {
    void* kept = nullptr;
    int there = 0;
    check(MPI_Comm_get_attr(communicator, key(), static_cast<void*>(&kept), &there), "MPI_Comm_get_attr");
    if (there != 0) return *static_cast<const Nodes*>(kept);
    std::unique_ptr<Nodes> made(new Nodes(communicator));  // the constructor is private
    check(MPI_Comm_set_attr(communicator, key(), made.get()), "MPI_Comm_set_attr");
    return *made.release();
}

Nodes::Nodes(MPI_Comm communicator) {
    int rank = 0, node_rank = 0, node_size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_split_type(communicator, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node_),
          "MPI_Comm_split_type");
    check(MPI_Comm_rank(node_, &node_rank), "MPI_Comm_rank");
    check(MPI_Comm_size(node_, &node_size), "MPI_Comm_size");
    check(MPI_Comm_split(communicator, node_rank == 0 ? 0 : MPI_UNDEFINED, rank, &leaders_),
          "MPI_Comm_split");
    if (leads()) members_.resize(static_cast<std::size_t>(node_size));
    check(MPI_Gather(&rank, 1, MPI_INT, members_.data(), 1, MPI_INT, 0, node_), "MPI_Gather");
    if (!leads()) return;
    int leaders = 0;
    check(MPI_Comm_size(leaders_, &leaders), "MPI_Comm_size");
    if (rank == 0) counts_.resize(static_cast<std::size_t>(leaders));
    check(MPI_Gather(&node_size, 1, MPI_INT, counts_.data(), 1, MPI_INT, 0, leaders_), "MPI_Gather");
    ranks_.resize(static_cast<std::size_t>(std::accumulate(counts_.begin(), counts_.end(), 0)));
    std::vector<int> places(counts_.size());
    std::exclusive_scan(counts_.begin(), counts_.end(), places.begin(), 0);
    check(MPI_Gatherv(members_.data(), node_size, MPI_INT, ranks_.data(), counts_.data(), places.data(),
                      MPI_INT, 0, leaders_),
          "MPI_Gatherv");
}

Nodes::~Nodes() {
    if (leaders_ != MPI_COMM_NULL) MPI_Comm_free(&leaders_);
    if (node_ != MPI_COMM_NULL) MPI_Comm_free(&node_);
}

namespace {

/// Empty where the system does not say.
std::string clock_name() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    std::array<char, 64> space{};
    if (boot.empty() || readlink("/proc/self/ns/time", space.data(), space.size() - 1) < 0) return boot;
    return boot + " " + space.data();
}

/// Around a ring the differences of clocks add up to nothing: if no message is early, each clock is within
/// the messages' times of each other one.
bool no_message_is_early(MPI_Comm communicator) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const MonotonicClock clock;
    const std::int64_t sent_ns = clock.now_ns();
    std::int64_t theirs_ns = 0;
    check(MPI_Sendrecv(&sent_ns, 1, MPI_INT64_T, (rank + 1) % size, tag::clock, &theirs_ns, 1, MPI_INT64_T,
                       (rank + size - 1) % size, tag::clock, communicator, MPI_STATUS_IGNORE),
          "MPI_Sendrecv");
    return theirs_ns <= clock.now_ns();
}

}  // namespace

bool one_clock(MPI_Comm communicator) {
    const std::string mine = clock_name();
    const bool same = !mine.empty() && text_of_root(communicator, mine) == mine;
    const std::array agreed{std::int64_t{no_message_is_early(communicator) && same}};
    return reduce(communicator, agreed, MPI_MIN)[0] == 1;
}

}  // namespace slowpath::mpi
