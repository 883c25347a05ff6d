// SPDX-License-Identifier: Apache-2.0
// Round trips between rank 0, which times them, and the last rank; both use one buffer for both directions.
#include "experiments/p2p/patterns.hpp"
#include "experiments/p2p/stages.hpp"
#include "mpi/check.hpp"
#include "mpi/transfer.hpp"

namespace slowpath::p2p {
namespace {

/// @return The first MPI error code that is not MPI_SUCCESS.
template <class Transfer>
int ping(const Transfer& transfer, std::byte* data, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.send(data, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = transfer.receive(data, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int pong(const Transfer& transfer, std::byte* data, int peer, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.receive(data, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = transfer.send(data, peer, message_tag); code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_pings(End& end, const Transfer& transfer, std::int64_t samples, std::uint32_t batch) {
    const MonotonicClock clock = end.context().clock;
    std::byte* const data = end.data();
    const int peer = end.roles().peer;
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        const int code = ping(transfer, data, peer, batch);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Send or MPI_Recv");
        end.samples().add(begin_ns, end_ns);
    }
}

void run_samples(End& end, std::int64_t samples, std::uint32_t batch) {
    mpi::with_transfer(end.config().message_bytes, [&](const auto& transfer) {
        if (end.roles().sends())
            time_pings(end, transfer, samples, batch);
        else
            mpi::check(pong(transfer, end.data(), end.roles().peer, samples * batch), "MPI_Recv or MPI_Send");
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
                mpi::with_transfer(end.config().message_bytes, [&](const auto& transfer) {
                    const int peer = end.roles().peer;
                    mpi::check(end.roles().side == from ? transfer.send(end.data(), peer, message_tag)
                                                        : transfer.receive(end.data(), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
        .echoes = true,
    };
}

}  // namespace slowpath::p2p
