// SPDX-License-Identifier: Apache-2.0
#include "skeleton/player.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "mpi/check.hpp"
#include "skeleton/memory.hpp"

namespace slowpath::skeleton {
namespace {

using mpi::check;

/// Of each communicator that the script names: made by all its members in one order.
std::vector<MPI_Comm> made(const Script& script) {
    MPI_Group world = MPI_GROUP_NULL;
    check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
    std::vector<MPI_Comm> found(script.communicators.size(), MPI_COMM_NULL);
    for (std::size_t i = 0; i < found.size(); ++i) {
        const std::vector<int>& members = script.communicators[i];
        if (members.empty()) continue;
        MPI_Group group = MPI_GROUP_NULL;
        check(MPI_Group_incl(world, static_cast<int>(members.size()), members.data(), &group),
              "MPI_Group_incl");
        check(MPI_Comm_create_group(MPI_COMM_WORLD, group, static_cast<int>(i % 32'000), &found[i]),
              "MPI_Comm_create_group");
        check(MPI_Comm_set_errhandler(found[i], MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        check(MPI_Group_free(&group), "MPI_Group_free");
    }
    check(MPI_Group_free(&world), "MPI_Group_free");
    return found;
}

/// What is summed up: numbers where the bytes make whole ones.
struct Numbers {
    MPI_Datatype datatype = MPI_DOUBLE;
    int count = 0;

    explicit Numbers(int bytes) {
        if (bytes % 8 == 0) {
            count = bytes / 8;
        } else if (bytes % 4 == 0) {
            datatype = MPI_INT;
            count = bytes / 4;
        } else {
            datatype = MPI_UNSIGNED_CHAR;
            count = bytes;
        }
    }
};

class Player {
  public:
    explicit Player(const Script& script)
        : script_(script),
          communicators_(made(script)),
          memory_(script),
          requests_(static_cast<std::size_t>(script.requests), MPI_REQUEST_NULL) {}

    Times play();

  private:
    void run(const Operation& operation);
    void message(const Operation& operation, MPI_Comm communicator);
    void collective(const Operation& operation, MPI_Comm communicator);
    void wait(const Operation& operation);
    MPI_Request* start(const Operation& operation) {
        ++open_;
        return &requests_[static_cast<std::size_t>(operation.requests.front())];
    }

    const Script& script_;
    const std::vector<MPI_Comm> communicators_;
    Memory memory_;
    std::vector<MPI_Request> requests_;
    std::vector<MPI_Request> waited_;
    std::int64_t open_ = 0;
};

/// What one look at the clock takes, ns: the shortest of many runs, since other programs only add to it.
std::int64_t look_ns(const MonotonicClock& clock) {
    constexpr int runs = 50;
    constexpr int looks = 100;
    std::int64_t least_ns = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < runs; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        std::int64_t end_ns = begin_ns;
        for (int k = 0; k < looks; ++k) end_ns = clock.now_ns();
        least_ns = std::min(least_ns, (end_ns - begin_ns) / looks);
    }
    return least_ns;
}

/// Scripts are longer than the caches: what comes next is fetched while the rank computes or calls.
void prefetch(const std::vector<Operation>& operations, std::size_t i) {
    constexpr std::size_t ahead = 6;
    constexpr std::size_t ahead_requests = 3;  // their operation is there by then
    if (i + ahead >= operations.size()) return;
    const auto* const next = reinterpret_cast<const char*>(&operations[i + ahead]);
    __builtin_prefetch(next);
    __builtin_prefetch(next + sizeof(Operation) - 1);
    __builtin_prefetch(operations[i + ahead_requests].requests.data());
}

Times Player::play() {
    Times times;
    const MonotonicClock clock;
    const std::int64_t own_ns = look_ns(clock);
    check(MPI_Barrier(MPI_COMM_WORLD), "MPI_Barrier");
    const std::int64_t begin_ns = clock.now_ns();
    std::int64_t last_ns = begin_ns;
    for (std::size_t i = 0; i < script_.operations.size(); ++i) {
        const Operation& operation = script_.operations[i];
        prefetch(script_.operations, i);
        std::int64_t now_ns = 0;
        if (operation.kind == Kind::compute) {
            memory_.release(open_ > 0);
            if (i + 1 < script_.operations.size()) memory_.prepare(script_.operations[i + 1]);
            do now_ns = clock.now_ns();
            while (now_ns - last_ns < operation.length_ns - own_ns);
        } else {
            run(operation);
            now_ns = clock.now_ns();
        }
        const auto kind = static_cast<std::size_t>(operation.kind);
        ++times.calls[kind];
        times.length_ns[kind] += now_ns - last_ns;
        last_ns = now_ns;
    }
    times.total_ns = last_ns - begin_ns;
    return times;
}

void Player::run(const Operation& operation) {
    if (operation.kind == Kind::wait) return wait(operation);
    const MPI_Comm communicator = communicators_[static_cast<std::size_t>(operation.communicator)];
    if (operation.kind < Kind::barrier) return message(operation, communicator);
    collective(operation, communicator);
}

void Player::message(const Operation& operation, MPI_Comm communicator) {
    const Message& one = operation.first;
    const Message& other = operation.second;
    switch (operation.kind) {
        case Kind::send:
            return check(
                MPI_Send(memory_.at(one, true), one.bytes, MPI_BYTE, one.peer, one.tag, communicator),
                "MPI_Send");
        case Kind::ssend:
            return check(
                MPI_Ssend(memory_.at(one, true), one.bytes, MPI_BYTE, one.peer, one.tag, communicator),
                "MPI_Ssend");
        case Kind::isend:
            return check(MPI_Isend(memory_.at(one, true), one.bytes, MPI_BYTE, one.peer, one.tag,
                                   communicator, start(operation)),
                         "MPI_Isend");
        case Kind::issend:
            return check(MPI_Issend(memory_.at(one, true), one.bytes, MPI_BYTE, one.peer, one.tag,
                                    communicator, start(operation)),
                         "MPI_Issend");
        case Kind::recv:
            return check(MPI_Recv(memory_.at(one, false), one.bytes, MPI_BYTE, one.peer, one.tag,
                                  communicator, MPI_STATUS_IGNORE),
                         "MPI_Recv");
        case Kind::irecv:
            return check(MPI_Irecv(memory_.at(one, false), one.bytes, MPI_BYTE, one.peer, one.tag,
                                   communicator, start(operation)),
                         "MPI_Irecv");
        case Kind::sendrecv:
            return check(MPI_Sendrecv(memory_.at(one, true), one.bytes, MPI_BYTE, one.peer, one.tag,
                                      memory_.at(other, false), other.bytes, MPI_BYTE, other.peer, other.tag,
                                      communicator, MPI_STATUS_IGNORE),
                         "MPI_Sendrecv");
        default:
            return check(MPI_Probe(one.peer, one.tag, communicator, MPI_STATUS_IGNORE), "MPI_Probe");
    }
}

void Player::collective(const Operation& operation, MPI_Comm communicator) {
    const int root = operation.first.peer;
    const int bytes = operation.first.bytes;
    const Numbers numbers(bytes);
    std::byte* const given = memory_.given();
    std::byte* const taken = memory_.taken();
    switch (operation.kind) {
        case Kind::barrier:
            return check(MPI_Barrier(communicator), "MPI_Barrier");
        case Kind::bcast:
            return check(MPI_Bcast(given, bytes, MPI_BYTE, root, communicator), "MPI_Bcast");
        case Kind::reduce:
            return check(
                MPI_Reduce(given, taken, numbers.count, numbers.datatype, MPI_SUM, root, communicator),
                "MPI_Reduce");
        case Kind::allreduce:
            return check(MPI_Allreduce(given, taken, numbers.count, numbers.datatype, MPI_SUM, communicator),
                         "MPI_Allreduce");
        case Kind::gather:
            return check(MPI_Gather(given, bytes, MPI_BYTE, taken, bytes, MPI_BYTE, root, communicator),
                         "MPI_Gather");
        case Kind::scatter:
            return check(MPI_Scatter(given, bytes, MPI_BYTE, taken, bytes, MPI_BYTE, root, communicator),
                         "MPI_Scatter");
        case Kind::allgather:
            return check(MPI_Allgather(given, bytes, MPI_BYTE, taken, bytes, MPI_BYTE, communicator),
                         "MPI_Allgather");
        case Kind::alltoall:
            return check(MPI_Alltoall(given, bytes, MPI_BYTE, taken, bytes, MPI_BYTE, communicator),
                         "MPI_Alltoall");
        default: {
            MPI_Comm copy = MPI_COMM_NULL;
            check(MPI_Comm_dup(communicator, &copy), "MPI_Comm_dup");
            return check(MPI_Comm_free(&copy), "MPI_Comm_free");
        }
    }
}

void Player::wait(const Operation& operation) {
    if (operation.requests.size() == 1) {
        check(MPI_Wait(&requests_[static_cast<std::size_t>(operation.requests.front())], MPI_STATUS_IGNORE),
              "MPI_Wait");
    } else {
        waited_.clear();
        for (const int number : operation.requests)
            waited_.push_back(std::exchange(requests_[static_cast<std::size_t>(number)], MPI_REQUEST_NULL));
        check(MPI_Waitall(static_cast<int>(waited_.size()), waited_.data(), MPI_STATUSES_IGNORE),
              "MPI_Waitall");
    }
    open_ -= static_cast<std::int64_t>(operation.requests.size());
}

}  // namespace

void require_of(const Script& script, int rank, int size) {
    if (script.rank != rank || script.ranks != size)
        throw EnvironmentFailure("the script is of rank " + std::to_string(script.rank) + " of " +
                                 std::to_string(script.ranks) + ", and this is rank " + std::to_string(rank) +
                                 " of " + std::to_string(size));
}

Times play(const Script& script) {
    return Player(script).play();
}

}  // namespace slowpath::skeleton
