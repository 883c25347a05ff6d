// SPDX-License-Identifier: Apache-2.0
#include "p2p/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/work.hpp"
#include "mpi/session.hpp"
#include "p2p/endpoint.hpp"
#include "p2p/p2p.hpp"

namespace slowpath::p2p {

// A message each way at once, and a computation that takes about as long.  Each sample has three parts, one
// after the other: the messages alone, the computation alone, and the computation between starting the
// messages and waiting for them.  A barrier before each, outside the timed regions.

namespace {

class Overlap {
  public:
    explicit Overlap(Endpoint& endpoint) : endpoint_(endpoint) {}

    /// Messages alone: the first one, and the warm-up.
    void communicate_alone(std::int64_t samples, std::uint32_t batch) {
        const MonotonicClock clock = endpoint_.context().clock;
        with_exchange([&](const auto& exchange) {
            for (std::int64_t i = 0; i < samples; ++i) {
                const std::int64_t begin_ns = clock.now_ns();
                const int code = communicate(exchange, batch);
                const std::int64_t end_ns = clock.now_ns();
                mpi::check(code, overlap_calls);
                endpoint_.samples().add(begin_ns, end_ns);
            }
        });
    }

    void run_rest() {
        const WarmUp warmup = run_warm_up(endpoint_, true, [this](std::int64_t samples, std::uint32_t batch) {
            communicate_alone(samples, batch);
        });
        if (slice_steps_ == 0) calibrate(warmup.operation_ns);
        // Alone, computed, and at worst one after the other.
        const SampleBudget budget =
            sample_budget(4 * endpoint_.batch * warmup.operation_ns, endpoint_.config().time_limit_s,
                          endpoint_.config().samples);
        const std::int64_t samples = endpoint_.decide(budget.samples);
        endpoint_.cut_by_time = endpoint_.cut_by_time || budget.cut_by_time;
        record_steady(samples, 1 + warmup.operations);
        endpoint_.steady_samples += samples;
    }

    /// One message from that side alone, for its payload.
    void check_only(Side from) {
        endpoint_.encoding().with_started([&](const auto& transfer) {
            const int peer = endpoint_.roles().peer;
            mpi::check(endpoint_.roles().side == from
                           ? transfer.send(endpoint_.data(from), peer, message_tag)
                           : transfer.receive(endpoint_.data(from), peer, message_tag),
                       "MPI_Send or MPI_Recv");
        });
    }

  private:
    template <class Body>
    void with_exchange(Body&& body) {
        const LiveBuffer* buffer = endpoint_.next_buffer();
        endpoint_.encoding().with_started([&](const auto& transfer) {
            body(Exchange{transfer, buffer, endpoint_.roles().peer, endpoint_.roles().sends()});
        });
        endpoint_.continue_from(buffer);
    }

    /// Time of the messages alone, ns, that the computation shall last: the lower quartile of a few, since
    /// the warm-up may be short and another process may have come between.
    std::int64_t usual_length_ns(double operation_ns) {
        constexpr double time_ns = 20e6;
        const auto tried = static_cast<std::int64_t>(std::clamp(time_ns / operation_ns, 4.0, 32.0));
        endpoint_.barrier().wait();
        endpoint_.begin_block(32);
        communicate_alone(endpoint_.decide(tried), 1);
        std::vector<std::int64_t> lengths(endpoint_.samples().durations_ns().begin(),
                                          endpoint_.samples().durations_ns().end());
        std::sort(lengths.begin(), lengths.end());
        return endpoint_.decide(std::max<std::int64_t>(1, lengths[lengths.size() / 4]));
    }

    /// On both ends at once, as they will compute; once a cell, so that all its sets compute alike.
    void calibrate(double operation_ns) {
        const std::int64_t length_ns = usual_length_ns(std::max(operation_ns, 1.0));
        endpoint_.barrier().wait();
        const std::int64_t steps = steps_lasting(static_cast<double>(length_ns), endpoint_.context().clock);
        slice_steps_ = std::max<std::int64_t>(1, steps / slices);
    }

    void record_steady(std::int64_t samples, std::int64_t first_sample) {
        const auto capacity = static_cast<std::size_t>(samples);
        computation_.start(capacity);
        both_.start(capacity);
        endpoint_.barrier().wait();
        endpoint_.begin_block(samples);
        if (endpoint_.config().tests)
            time_samples<true>(samples);
        else
            time_samples<false>(samples);
        endpoint_.end_block(Phase::steady, endpoint_.batch, first_sample, false);
        endpoint_.add_part(Phase::steady, endpoint_.batch, first_sample, overlap_part::computation,
                           computation_);
        endpoint_.add_part(Phase::steady, endpoint_.batch, first_sample, overlap_part::both, both_);
    }

    /// @param act Returns an MPI error code.
    template <class Act>
    void time_part(Samples& samples, Act&& act) {
        const MonotonicClock clock = endpoint_.context().clock;
        endpoint_.barrier().wait();
        const std::int64_t begin_ns = clock.now_ns();
        const int code = act();
        const std::int64_t end_ns = clock.now_ns();
        mpi::check(code, overlap_calls);
        samples.add(begin_ns, end_ns);
    }

    template <bool tests>
    void time_samples(std::int64_t samples) {
        const std::int64_t batch = endpoint_.batch;
        with_exchange([&](const auto& exchange) {
            for (std::int64_t i = 0; i < samples; ++i) {
                time_part(endpoint_.samples(), [&] { return communicate(exchange, batch); });
                time_part(computation_, [&] {
                    compute_alone(slice_steps_, batch);
                    return MPI_SUCCESS;
                });
                time_part(both_,
                          [&] { return communicate_and_compute<tests>(exchange, slice_steps_, batch); });
            }
        });
    }

    Endpoint& endpoint_;
    std::int64_t slice_steps_ = 0;  ///< 0 before it is known
    Samples computation_;
    Samples both_;
};

}  // namespace

Steps overlap(Endpoint& endpoint) {
    const auto run = std::make_shared<Overlap>(endpoint);
    return {
        .first =
            [&endpoint, run] {
                run_first(endpoint, true, [run](std::int64_t samples, std::uint32_t batch) {
                    run->communicate_alone(samples, batch);
                });
            },
        .rest = [run] { run->run_rest(); },
        .check_only = [run](Side from) { run->check_only(from); },
    };
}

}  // namespace slowpath::p2p
