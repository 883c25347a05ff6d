// SPDX-License-Identifier: Apache-2.0
#include "p2p/windowed.hpp"

#include <cstdint>
#include <memory>

#include "mpi/optional.hpp"
#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {

// Windows of in_flight messages, each window in the next of the live buffers, from each pair's sender,
// answered by a message of no bytes; or, with direction=both, a window from each of the two, and no answer.
// All messages of a window have the same contents, so those of places=one can be compared, too.
// requests=persistent: the same messages by requests that were made before; requests=partitioned: one message
// of as many partitions (ready_made.hpp).
// Each thread of a rank has windows of its own.  All pairs start each sample together: our barrier before it,
// outside the timed region.

namespace {

/// @return The first MPI error code that is not MPI_SUCCESS, as all of these functions do.
template <class Transfer>
int start_sends(const Transfer& transfer, const Lane& lane, MPI_Request* requests) {
    std::byte* const from = lane.out();
    for (int i = 0; i < lane.in_flight; ++i)
        if (const int code = transfer.start_send(from, lane.peer, lane.tag, &requests[i]);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
    return MPI_SUCCESS;
}

template <class Transfer>
int start_receives(const Transfer& transfer, const Lane& lane, MPI_Request* requests) {
    std::byte* to = lane.in();
    for (int i = 0; i < lane.in_flight; ++i) {
        if (const int code = transfer.start_receive(to, lane.peer, lane.tag, &requests[i]);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        to += lane.stride_bytes;
    }
    return MPI_SUCCESS;
}

int wait_for(Lane& lane) {
    return MPI_Waitall(static_cast<int>(lane.requests.size()), lane.requests.data(), MPI_STATUSES_IGNORE);
}

template <class Transfer>
int send_windows(const Transfer& transfer, Lane& lane, std::int64_t windows) {
    for (std::int64_t i = 0; i < windows; ++i) {
        if (const int code = start_sends(transfer, lane, lane.requests.data()); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = wait_for(lane); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = MPI_Recv(nullptr, 0, MPI_BYTE, lane.peer, lane.answer_tag(), MPI_COMM_WORLD,
                                      MPI_STATUS_IGNORE);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        lane.buffer = lane.buffer->next;
    }
    return MPI_SUCCESS;
}

template <class Transfer>
int receive_windows(const Transfer& transfer, Lane& lane, std::int64_t windows) {
    for (std::int64_t i = 0; i < windows; ++i) {
        if (const int code = start_receives(transfer, lane, lane.requests.data()); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = wait_for(lane); code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = MPI_Send(nullptr, 0, MPI_BYTE, lane.peer, lane.answer_tag(), MPI_COMM_WORLD);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        lane.buffer = lane.buffer->next;
    }
    return MPI_SUCCESS;
}

/// Receives first, as benchmarks of both directions have it: no message is unexpected.
template <class Transfer>
int exchange_windows(const Transfer& transfer, Lane& lane, std::int64_t windows) {
    for (std::int64_t i = 0; i < windows; ++i) {
        if (const int code = start_receives(transfer, lane, lane.requests.data()); code != MPI_SUCCESS)
            [[unlikely]]
            return code;
        if (const int code = start_sends(transfer, lane, lane.requests.data() + lane.in_flight);
            code != MPI_SUCCESS) [[unlikely]]
            return code;
        if (const int code = wait_for(lane); code != MPI_SUCCESS) [[unlikely]]
            return code;
        lane.buffer = lane.buffer->next;
    }
    return MPI_SUCCESS;
}

class Windowed {
  public:
    explicit Windowed(Endpoint& endpoint)
        : endpoint_(endpoint), crew_(static_cast<int>(endpoint.config().threads)) {}

    void run_samples(std::int64_t samples, std::uint32_t batch) {
        std::vector<Lane> lanes = this->lanes();
        if (endpoint_.config().requests != RequestKind::fresh) {
            std::vector<ReadyMade> ready = make_ready(endpoint_, lanes);
            return time_samples(samples, endpoint_.roles().sends(), [&](int thread) {
                return ready[static_cast<std::size_t>(thread)].run(batch);
            });
        }
        endpoint_.encoding().with_started([&](const auto& transfer) {
            if (endpoint_.config().both_ways)
                time_samples(samples, endpoint_.roles().sends(), [&](int thread) {
                    return exchange_windows(transfer, lanes[static_cast<std::size_t>(thread)], batch);
                });
            else if (endpoint_.roles().sends())
                time_samples(samples, true, [&](int thread) {
                    return send_windows(transfer, lanes[static_cast<std::size_t>(thread)], batch);
                });
            else
                time_samples(samples, false, [&](int thread) {
                    return receive_windows(transfer, lanes[static_cast<std::size_t>(thread)], batch);
                });
        });
        endpoint_.continue_from(lanes.front().buffer);
    }

    /// A window of each thread from that side alone, for its payload.
    void check_only(Side from) {
        std::vector<Lane> lanes = this->lanes();
        const bool sends = endpoint_.roles().side == from;
        if (endpoint_.config().requests != RequestKind::fresh && !endpoint_.config().both_ways) {
            std::vector<ReadyMade> ready = make_ready(endpoint_, lanes);
            return mpi::check(
                crew_.run([&](int thread) { return ready[static_cast<std::size_t>(thread)].run(1); }),
                "a window of messages");
        }
        endpoint_.encoding().with_started([&](const auto& transfer) {
            mpi::check(crew_.run([&](int thread) {
                Lane& lane = lanes[static_cast<std::size_t>(thread)];
                lane.requests.resize(static_cast<std::size_t>(lane.in_flight));
                return sends ? send_windows(transfer, lane, 1) : receive_windows(transfer, lane, 1);
            }),
                       "a window of messages");
        });
    }

  private:
    std::vector<Lane> lanes() const {
        const Config& config = endpoint_.config();
        const auto in_flight = static_cast<std::size_t>(config.in_flight);
        const std::int64_t stride_bytes = config.stride_bytes(*endpoint_.roles().side);
        std::vector<Lane> all;
        for (int thread = 0; thread < crew_.size(); ++thread)
            all.push_back(
                {endpoint_.next_buffer(), endpoint_.roles().sends(), endpoint_.roles().peer,
                 message_tag + 2 * thread, static_cast<int>(config.in_flight),
                 thread * config.window_places() * stride_bytes, config.one_place ? 0 : stride_bytes,
                 std::vector<MPI_Request>(config.both_ways ? 2 * in_flight : in_flight, MPI_REQUEST_NULL)});
        return all;
    }

    /// @param act Takes a thread's number, and returns an MPI error code.
    template <class Act>
    void time_samples(std::int64_t samples, bool stores, Act&& act) {
        const MonotonicClock clock = endpoint_.context().clock;
        for (std::int64_t i = 0; i < samples; ++i) {
            endpoint_.barrier().wait();
            const std::int64_t begin_ns = clock.now_ns();
            const int code = crew_.run(act);
            const std::int64_t end_ns = clock.now_ns();
            mpi::check(code, "MPI_Isend, MPI_Irecv, MPI_Waitall, MPI_Recv or MPI_Send");
            if (stores) endpoint_.samples().add(begin_ns, end_ns);
        }
    }

    Endpoint& endpoint_;
    Crew crew_;
};

}  // namespace

Steps windowed(Endpoint& endpoint) {
    const auto windows = std::make_shared<Windowed>(endpoint);
    const RunSamples run = [windows](std::int64_t samples, std::uint32_t batch) {
        windows->run_samples(samples, batch);
    };
    const bool stores = endpoint.roles().sends();
    return {
        .first = [&endpoint, stores, run] { run_first(endpoint, stores, run); },
        .rest = [&endpoint, stores, run] { run_rest(endpoint, stores, run); },
        .check_only = [windows](Side from) { windows->check_only(from); },
    };
}

namespace {

std::vector<MPI_Request> persistent_requests(const Endpoint& endpoint, const Lane& lane) {
    const bool both = endpoint.config().both_ways;
    std::vector<MPI_Request> all;
    endpoint.encoding().with_started([&](const auto& transfer) {
        std::byte* to = lane.in();
        for (int i = 0; (both || !lane.is_sender) && i < lane.in_flight; ++i, to += lane.stride_bytes)
            mpi::check(transfer.make_receive(to, lane.peer, lane.tag, &all.emplace_back(MPI_REQUEST_NULL)),
                       "MPI_Recv_init");
        for (int i = 0; (both || lane.is_sender) && i < lane.in_flight; ++i)
            mpi::check(
                transfer.make_send(lane.out(), lane.peer, lane.tag, &all.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Send_init");
    });
    return all;
}

std::vector<MPI_Request> partitioned_request([[maybe_unused]] const Endpoint& endpoint,
                                             [[maybe_unused]] const Lane& lane) {
    std::vector<MPI_Request> one{MPI_REQUEST_NULL};
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    const auto each = static_cast<MPI_Count>(endpoint.config().message_bytes);
    std::byte* const data = endpoint.data() + lane.place_bytes;
    if (lane.is_sender)
        mpi::check(MPI_Psend_init(data, lane.in_flight, each, MPI_BYTE, lane.peer, lane.tag, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, one.data()),
                   "MPI_Psend_init");
    else
        mpi::check(MPI_Precv_init(data, lane.in_flight, each, MPI_BYTE, lane.peer, lane.tag, MPI_COMM_WORLD,
                                  MPI_INFO_NULL, one.data()),
                   "MPI_Precv_init");
#endif
    return one;
}

}  // namespace

bool has_partitioned() {
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    return mpi::is_there(&MPI_Psend_init) && mpi::is_there(&MPI_Pready);
#else
    return false;
#endif
}

ReadyMade::ReadyMade(const Endpoint& endpoint, const Lane& lane)
    : peer_(lane.peer),
      answer_tag_(lane.answer_tag()),
      partitions_(endpoint.config().is_partitioned() ? lane.in_flight : 0),
      is_sender_(lane.is_sender),
      answers_(!endpoint.config().both_ways),
      requests_(partitions_ > 0 ? partitioned_request(endpoint, lane) : persistent_requests(endpoint, lane)) {
}

ReadyMade::~ReadyMade() {
    for (MPI_Request& one : requests_)
        if (one != MPI_REQUEST_NULL) MPI_Request_free(&one);
}

int ReadyMade::start() {
    if (partitions_ == 0) return MPI_Startall(static_cast<int>(requests_.size()), requests_.data());
    int code = MPI_Start(requests_.data());
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    for (int i = 0; is_sender_ && i < partitions_ && code == MPI_SUCCESS; ++i)
        code = MPI_Pready(i, requests_.front());
#endif
    return code;
}

int ReadyMade::answer() {
    if (is_sender_)
        return MPI_Recv(nullptr, 0, MPI_BYTE, peer_, answer_tag_, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Send(nullptr, 0, MPI_BYTE, peer_, answer_tag_, MPI_COMM_WORLD);
}

int ReadyMade::run(std::int64_t windows) {
    for (std::int64_t i = 0; i < windows; ++i) {
        int code = start();
        if (code == MPI_SUCCESS)
            code = MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
        if (code == MPI_SUCCESS && answers_) code = answer();
        if (code != MPI_SUCCESS) [[unlikely]]
            return code;
    }
    return MPI_SUCCESS;
}

std::vector<ReadyMade> make_ready(const Endpoint& endpoint, const std::vector<Lane>& lanes) {
    std::vector<ReadyMade> all;
    all.reserve(lanes.size());
    for (const Lane& lane : lanes) all.emplace_back(endpoint, lane);
    return all;
}

}  // namespace slowpath::p2p
