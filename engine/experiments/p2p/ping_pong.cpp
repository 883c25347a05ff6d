// SPDX-License-Identifier: Apache-2.0
// Round trips between rank 0, which times them, and the last rank; each has a buffer to send from and one to
// receive in.
#include <cstdint>

#include "experiments/p2p/patterns.hpp"
#include "experiments/p2p/stages.hpp"
#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

/// Each round trip takes the next of the live buffers.
/// @return The first MPI error code that is not MPI_SUCCESS.
template <class Transfer>
int ping(const Transfer& transfer, const Turn*& turn, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.send(turn->forth, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = transfer.receive(turn->back, peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        turn = turn->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int pong(const Transfer& transfer, const Turn*& turn, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.receive(turn->forth, peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = transfer.send(turn->back, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
        turn = turn->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_pings(End& end, const Transfer& transfer, std::int64_t samples, std::uint32_t batch) {
    const MonotonicClock clock = end.context().clock;
    const int peer = end.roles().peer;
    const Turn* turn = end.turn();
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        const int code = ping(transfer, turn, peer, batch);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        end.samples().add(begin_ns, end_ns);
    }
    end.go_on_from(turn);
}

template <class Transfer>
void answer_pings(End& end, const Transfer& transfer, std::int64_t round_trips) {
    const Turn* turn = end.turn();
    mpi::check(pong(transfer, turn, end.roles().peer, round_trips), "MPI_Recv or MPI_Send");
    end.go_on_from(turn);
}

void run_samples(End& end, std::int64_t samples, std::uint32_t batch) {
    end.form().with_blocking([&](const auto& transfer) {
        if (end.roles().sends())
            time_pings(end, transfer, samples, batch);
        else
            answer_pings(end, transfer, samples * batch);
    });
}

}  // namespace

Steps ping_pong(End& end) {
    const RunSamples run = [&end](std::int64_t samples, std::uint32_t batch) {
        run_samples(end, samples, batch);
    };
    const bool stores = end.roles().sends();
    return {
        .first = [&end, stores, run] { run_first(end, stores, run); },
        .rest = [&end, stores, run] { run_rest(end, stores, run); },
        .check_only =
            [&end](Side from) {
                end.form().with_blocking([&](const auto& transfer) {
                    const int peer = end.roles().peer;
                    mpi::check(end.roles().side == from ? transfer.send(end.data(from), peer, message_tag)
                                                        : transfer.receive(end.data(from), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
    };
}

}  // namespace slowpath::p2p
