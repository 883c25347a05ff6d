// SPDX-License-Identifier: Apache-2.0
// Windows of in_flight messages, each window in the next of the live buffers, from each pair's sender,
// answered by a message of no bytes.  All pairs start each sample together: our barrier before it, outside
// the timed region.
#include <cstdint>

#include "mpi/check.hpp"
#include "p2p/patterns.hpp"
#include "p2p/stages.hpp"

namespace slowpath::p2p {
namespace {

constexpr int answer_tag = message_tag + 1;

struct Window {
    const LiveBuffer* buffer;
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
            if (const int code =
                    transfer.start_send(window.buffer->forth, window.peer, message_tag, &request);
                code != MPI_SUCCESS) [[unlikely]]
                return code;
        if (const int code = MPI_Waitall(in_flight, window.requests.data(), MPI_STATUSES_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code =
                MPI_Recv(nullptr, 0, MPI_BYTE, window.peer, answer_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        window.buffer = window.buffer->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int receive_windows(const Transfer& transfer, Window& window, std::int64_t windows) {
    const auto in_flight = static_cast<int>(window.requests.size());
    for (std::int64_t i = 0; i < windows; ++i) {
        std::byte* to = window.buffer->forth;
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
        window.buffer = window.buffer->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
void time_windows(Endpoint& endpoint, const Transfer& transfer, Window& window, std::int64_t samples,
                  std::uint32_t batch) {
    const MonotonicClock clock = endpoint.context().clock;
    for (std::int64_t i = 0; i < samples; ++i) {
        endpoint.barrier().wait();
        const std::int64_t begin_ns = clock.now_ns();
        const int code = send_windows(transfer, window, batch);
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, "MPI_Isend, MPI_Waitall or MPI_Recv");
        endpoint.samples().add(begin_ns, end_ns);
    }
}

template <class Transfer>
void answer_windows(Endpoint& endpoint, const Transfer& transfer, Window& window, std::int64_t samples,
                    std::uint32_t batch) {
    for (std::int64_t i = 0; i < samples; ++i) {
        endpoint.barrier().wait();
        mpi::check(receive_windows(transfer, window, batch), "MPI_Irecv, MPI_Waitall or MPI_Send");
    }
}

Window window_of(const Endpoint& endpoint) {
    const Config& config = endpoint.config();
    return {endpoint.next_buffer(), endpoint.roles().peer, config.stride_bytes(),
            std::vector<MPI_Request>(static_cast<std::size_t>(config.in_flight), MPI_REQUEST_NULL)};
}

void run_samples(Endpoint& endpoint, std::int64_t samples, std::uint32_t batch) {
    Window window = window_of(endpoint);
    endpoint.encoding().with_started([&](const auto& transfer) {
        if (endpoint.roles().sends())
            time_windows(endpoint, transfer, window, samples, batch);
        else
            answer_windows(endpoint, transfer, window, samples, batch);
    });
    endpoint.continue_from(window.buffer);
}

}  // namespace

Steps windowed(Endpoint& endpoint) {
    const RunSamples run = [&endpoint](std::int64_t samples, std::uint32_t batch) {
        run_samples(endpoint, samples, batch);
    };
    const bool stores = endpoint.roles().sends();
    return {
        .first = [&endpoint, stores, run] { run_first(endpoint, stores, run); },
        .rest = [&endpoint, stores, run] { run_rest(endpoint, stores, run); },
        .check_only =
            [&endpoint](Side) {
                Window window = window_of(endpoint);
                endpoint.encoding().with_started([&](const auto& transfer) {
                    mpi::check(endpoint.roles().sends() ? send_windows(transfer, window, 1)
                                                        : receive_windows(transfer, window, 1),
                               "a window of messages");
                });
            },
    };
}

}  // namespace slowpath::p2p
