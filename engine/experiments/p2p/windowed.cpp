// SPDX-License-Identifier: Apache-2.0
// Windows of in_flight messages, each window in the next of the live buffers, from each pair's sender,
// answered by a message of no bytes.  All pairs start each sample together: our barrier before it, outside
// the timed region.
#include <cstdint>

#include "experiments/p2p/patterns.hpp"
#include "experiments/p2p/stages.hpp"
#include "mpi/check.hpp"

namespace slowpath::p2p {
namespace {

constexpr int answer_tag = message_tag + 1;

struct Window {
    const Turn* turn;
    int peer;
    std::int64_t stride_bytes;
    std::vector<MPI_Request> requests;
};

/// @return The first MPI error code that is not MPI_SUCCESS.
template <class Transfer>
int send_windows(const Transfer& transfer, Window& window, std::int64_t windows) {
    const auto in_flight = static_cast<int>(window.requests.size());
    for (std::int64_t i = 0; i < windows; ++i) {
        for (MPI_Request& request : window.requests)
            if (const int code = transfer.start_send(window.turn->forth, window.peer, message_tag, &request);
                code != MPI_SUCCESS) [[unlikely]]
                return code;
        if (const int code = MPI_Waitall(in_flight, window.requests.data(), MPI_STATUSES_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code =
                MPI_Recv(nullptr, 0, MPI_BYTE, window.peer, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        window.turn = window.turn->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int receive_windows(const Transfer& transfer, Window& window, std::int64_t windows) {
    const auto in_flight = static_cast<int>(window.requests.size());
    for (std::int64_t i = 0; i < windows; ++i) {
        std::byte* to = window.turn->forth;
        for (MPI_Request& request : window.requests) {
            if (const int code = transfer.start_receive(to, window.peer, message_tag, &request);
                code != MPI_SUCCESS) [[unlikely]]
                return code;
            to += window.stride_bytes;
        }
        if (const int code = MPI_Waitall(in_flight, window.requests.data(), MPI_STATUSES_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = MPI_Send(nullptr, 0, MPI_BYTE, window.peer, answer_tag, MPI_COMM_WORLD);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        window.turn = window.turn->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_windows(End& end, const Transfer& transfer, Window& window, std::int64_t samples,
                  std::uint32_t batch) {
    const MonotonicClock clock = end.context().clock;
    for (std::int64_t i = 0; i < samples; ++i) {
        end.barrier().wait();
        const std::int64_t begin_ns = clock.now_ns();
        const int code = send_windows(transfer, window, batch);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Isend, MPI_Waitall or MPI_Recv");
        end.samples().add(begin_ns, end_ns);
    }
}

template <class Transfer>
void answer_windows(End& end, const Transfer& transfer, Window& window, std::int64_t samples,
                    std::uint32_t batch) {
    for (std::int64_t i = 0; i < samples; ++i) {
        end.barrier().wait();
        mpi::check(receive_windows(transfer, window, batch), "MPI_Irecv, MPI_Waitall or MPI_Send");
    }
}

Window window_of(const End& end) {
    const Config& config = end.config();
    return {end.turn(), end.roles().peer, config.stride_bytes(),
            std::vector<MPI_Request>(static_cast<std::size_t>(config.in_flight), MPI_REQUEST_NULL)};
}

void run_samples(End& end, std::int64_t samples, std::uint32_t batch) {
    Window window = window_of(end);
    end.form().with_started([&](const auto& transfer) {
        if (end.roles().sends())
            time_windows(end, transfer, window, samples, batch);
        else
            answer_windows(end, transfer, window, samples, batch);
    });
    end.go_on_from(window.turn);
}

}  // namespace

Steps windowed(End& end) {
    const RunSamples run = [&end](std::int64_t samples, std::uint32_t batch) {
        run_samples(end, samples, batch);
    };
    const bool stores = end.roles().sends();
    return {
        .first = [&end, stores, run] { run_first(end, stores, run); },
        .rest = [&end, stores, run] { run_rest(end, stores, run); },
        .check_only =
            [&end](Side) {
                Window window = window_of(end);
                end.form().with_started([&](const auto& transfer) {
                    mpi::check(end.roles().sends() ? send_windows(transfer, window, 1)
                                                   : receive_windows(transfer, window, 1),
                               "a window of messages");
                });
            },
    };
}

}  // namespace slowpath::p2p
