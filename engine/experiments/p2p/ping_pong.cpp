// SPDX-License-Identifier: Apache-2.0
// Round trips between rank 0, which times them, and the last rank; each has a buffer to send from and one to
// receive in.
#include <cstdint>

#include "experiments/p2p/patterns.hpp"
#include "experiments/p2p/stages.hpp"
#include "mpi/check.hpp"
#include "mpi/transfer.hpp"

namespace slowpath::p2p {
namespace {

/// The other rank, and where messages forth (from rank 0) and back stand on this one.
struct Place {
    std::byte* forth;
    std::byte* back;
    int peer;
};

Place place_of(const End& end) {
    return {end.data(Side::sender), end.data(Side::receiver), end.roles().peer};
}

/// @return The first MPI error code that is not MPI_SUCCESS.
template <class Transfer>
int ping(const Transfer& transfer, const Place& place, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.send(place.forth, place.peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = transfer.receive(place.back, place.peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int pong(const Transfer& transfer, const Place& place, std::int64_t round_trips) {
    for (std::int64_t i = 0; i < round_trips; ++i) {
        if (const int code = transfer.receive(place.forth, place.peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = transfer.send(place.back, place.peer, message_tag); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_pings(End& end, const Transfer& transfer, std::int64_t samples, std::uint32_t batch) {
    const MonotonicClock clock = end.context().clock;
    const Place place = place_of(end);
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t begin_ns = clock.now_ns();
        const int code = ping(transfer, place, batch);
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
            mpi::check(pong(transfer, place_of(end), samples * batch), "MPI_Recv or MPI_Send");
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
                    mpi::check(end.roles().side == from ? transfer.send(end.data(from), peer, message_tag)
                                                        : transfer.receive(end.data(from), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
    };
}

}  // namespace slowpath::p2p
