// SPDX-License-Identifier: Apache-2.0
#include "nodes/pairs.hpp"

#include <algorithm>
#include <cstddef>

#include "core/clock.hpp"
#include "mpi/session.hpp"
#include "mpi/tags.hpp"

namespace slowpath::nodes {
namespace {

constexpr int message_tag = 90;
constexpr std::int64_t fewest_samples = 3, warmup_samples = 2;
/// A sample of round trips lasts at least so long, so that the clock is no part of it.
constexpr double least_sample_ns = 20e3;

/// Buffers and requests of one rank.
class Exchange {
  public:
    Exchange(const Config& config, int peer, bool sends)
        : is_stream_(config.pattern == Pattern::stream),
          peer_(peer),
          sends_(sends),
          bytes_(static_cast<int>(config.message_bytes)),
          buffer_(static_cast<std::size_t>(std::max<std::int64_t>(config.message_bytes, 1)), std::byte{1}),
          requests_(is_stream_ ? static_cast<std::size_t>(config.in_flight) : 0, MPI_REQUEST_NULL) {}

    void once(std::uint32_t batch) {
        if (is_stream_)
            stream();
        else
            for (std::uint32_t i = 0; i < batch; ++i) round_trip();
    }

  private:
    void send(int bytes) {
        mpi::check(MPI_Send(buffer_.data(), bytes, MPI_BYTE, peer_, message_tag, MPI_COMM_WORLD), "MPI_Send");
    }
    void receive(int bytes) {
        mpi::check(
            MPI_Recv(buffer_.data(), bytes, MPI_BYTE, peer_, message_tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE),
            "MPI_Recv");
    }
    void round_trip() {
        if (sends_) send(bytes_);
        receive(bytes_);
        if (!sends_) send(bytes_);
    }
    /// Nobody reads what arrives, so that all receives may share one buffer; the answer says that all is
    /// there.
    void stream() {
        for (MPI_Request& request : requests_)
            mpi::check(sends_ ? MPI_Isend(buffer_.data(), bytes_, MPI_BYTE, peer_, message_tag,
                                          MPI_COMM_WORLD, &request)
                              : MPI_Irecv(buffer_.data(), bytes_, MPI_BYTE, peer_, message_tag,
                                          MPI_COMM_WORLD, &request),
                       sends_ ? "MPI_Isend" : "MPI_Irecv");
        mpi::check(MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE),
                   "MPI_Waitall");
        sends_ ? receive(0) : send(0);
    }

    bool is_stream_;
    int peer_;
    bool sends_;
    int bytes_;
    std::vector<std::byte> buffer_;
    std::vector<MPI_Request> requests_;
};

/// The sender's number, on both.
std::int64_t decided(MPI_Comm control, int peer, bool sends, std::int64_t mine) {
    if (sends)
        mpi::check(MPI_Send(&mine, 1, MPI_INT64_T, peer, mpi::tag::decision, control), "MPI_Send");
    else
        mpi::check(MPI_Recv(&mine, 1, MPI_INT64_T, peer, mpi::tag::decision, control, MPI_STATUS_IGNORE),
                   "MPI_Recv");
    return mine;
}

}  // namespace

Measured measure_pair(const Config& config, MPI_Comm control, int peer, bool sends) {
    const MonotonicClock clock;
    Exchange exchange(config, peer, sends);
    exchange.once(1);  // connects
    const std::int64_t begin_ns = clock.now_ns();
    for (std::int64_t i = 0; i < warmup_samples; ++i) exchange.once(1);
    const double each_ns = std::max(static_cast<double>(clock.now_ns() - begin_ns) / warmup_samples, 100.0);
    const bool is_stream = config.pattern == Pattern::stream;
    const auto batch = static_cast<std::uint32_t>(
        decided(control, peer, sends,
                is_stream ? 1 : std::max<std::int64_t>(1, std::int64_t(least_sample_ns / each_ns))));
    const double fitting = config.time_limit_s * 1e9 / (each_ns * batch);
    const std::int64_t samples =
        decided(control, peer, sends,
                std::clamp<std::int64_t>(static_cast<std::int64_t>(std::min(fitting, 1e9)), fewest_samples,
                                         std::max(config.samples, fewest_samples)));
    std::vector<std::int64_t> durations_ns;
    durations_ns.reserve(static_cast<std::size_t>(samples));
    for (std::int64_t i = 0; i < samples; ++i) {
        const std::int64_t sample_ns = clock.now_ns();
        exchange.once(batch);
        durations_ns.push_back(clock.now_ns() - sample_ns);
    }
    if (!sends) return {};
    const auto messages = is_stream ? static_cast<std::uint32_t>(config.in_flight) : batch;
    return {{{static_cast<std::uint64_t>(peer), messages, durations_ns}}, {}};
}

}  // namespace slowpath::nodes
