// SPDX-License-Identifier: Apache-2.0
// The receiver asks for a message that was not sent, again and again.  The sender waits meanwhile until it is
// told to send, by an empty message after the samples: nothing is under way to the receiver while it polls.
#include <cstdint>

#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {
namespace {

constexpr int go_tag = message_tag + 1;

/// What each poll asks for.
struct Asked {
    int source;
    MPI_Request request = MPI_REQUEST_NULL;  ///< poll=test and testall: of the receive that is open
};

/// @return The first MPI error code that is not MPI_SUCCESS, or MPI_ERR_OTHER where a poll found something.
template <class Once>
int poll(std::int64_t polls, const Once& once) {
    for (std::int64_t i = 0; i < polls; ++i) {
        int found = 0;
        if (const int code = once(&found); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (found != 0) [[unlikely]]
            return MPI_ERR_OTHER;
    }
    return MPI_SUCCESS;
}

/// Call `body` with what performs one poll: decided before anything is timed.
template <class Body>
void with_poll(Poll which, Asked& asked, Body&& body) {
    switch (which) {
        case Poll::iprobe:
            return body([source = asked.source](int* found) {
                return MPI_Iprobe(source, message_tag, MPI_COMM_WORLD, found, MPI_STATUS_IGNORE);
            });
        case Poll::improbe:
            return body([source = asked.source](int* found) {
                MPI_Message message = MPI_MESSAGE_NULL;
                return MPI_Improbe(source, message_tag, MPI_COMM_WORLD, found, &message, MPI_STATUS_IGNORE);
            });
        case Poll::test:
            return body([&request = asked.request](int* found) {
                return MPI_Test(&request, found, MPI_STATUS_IGNORE);
            });
        case Poll::testall:
            return body([&request = asked.request](int* found) {
                return MPI_Testall(1, &request, found, MPI_STATUSES_IGNORE);
            });
    }
}

bool asks_for_request(Poll which) {
    return which == Poll::test || which == Poll::testall;
}

void ask(Endpoint& endpoint, std::int64_t samples, std::uint32_t batch) {
    const Config& config = endpoint.config();
    const MonotonicClock clock = endpoint.context().clock;
    const int peer = endpoint.roles().peer;
    Asked asked{config.source == Source::any ? MPI_ANY_SOURCE : peer};
    std::byte* const data = endpoint.next_buffer()->forth;
    endpoint.encoding().with_started([&](const auto& transfer) {
        if (asks_for_request(config.poll))
            mpi::check(transfer.start_receive(data, asked.source, message_tag, &asked.request), "MPI_Irecv");
        with_poll(config.poll, asked, [&](const auto& once) {
            for (std::int64_t i = 0; i < samples; ++i) {
                const std::int64_t begin_ns = clock.now_ns();
                const int code = poll(batch, once);
                const std::int64_t end_ns = clock.now_ns();
                mpi::check(code, "MPI_Iprobe, MPI_Improbe, MPI_Test or MPI_Testall");
                endpoint.samples().add(begin_ns, end_ns);
            }
        });
        mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, peer, go_tag, MPI_COMM_WORLD), "MPI_Send");
        mpi::check(asks_for_request(config.poll) ? MPI_Wait(&asked.request, MPI_STATUS_IGNORE)
                                                 : transfer.receive(data, peer, message_tag),
                   "MPI_Wait or MPI_Recv");
    });
}

void send_when_asked(Endpoint& endpoint) {
    const int peer = endpoint.roles().peer;
    mpi::check(MPI_Recv(nullptr, 0, MPI_BYTE, peer, go_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE), "MPI_Recv");
    endpoint.encoding().with_started([&](const auto& transfer) {
        mpi::check(transfer.send(endpoint.next_buffer()->forth, peer, message_tag), "MPI_Send");
    });
}

/// One message of the next buffer for each run of samples.
void run_polls(Endpoint& endpoint, std::int64_t samples, std::uint32_t batch) {
    if (endpoint.roles().receives())
        ask(endpoint, samples, batch);
    else
        send_when_asked(endpoint);
    endpoint.continue_from(endpoint.next_buffer()->next);
}

}  // namespace

Steps polling(Endpoint& endpoint) {
    const RunSamples run = [&endpoint](std::int64_t samples, std::uint32_t batch) {
        run_polls(endpoint, samples, batch);
    };
    const bool stores = endpoint.roles().receives();
    return {
        .first = [&endpoint, stores, run] { run_first(endpoint, stores, run); },
        .rest = [&endpoint, stores, run] { run_rest(endpoint, stores, run); },
        .check_only =
            [&endpoint](Side) {
                endpoint.encoding().with_blocking([&](const auto& transfer) {
                    const int peer = endpoint.roles().peer;
                    mpi::check(endpoint.roles().sends()
                                   ? transfer.send(endpoint.data(), peer, message_tag)
                                   : transfer.receive(endpoint.data(), peer, message_tag),
                               "MPI_Send or MPI_Recv");
                });
            },
    };
}

}  // namespace slowpath::p2p
