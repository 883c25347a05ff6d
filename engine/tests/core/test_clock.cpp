// SPDX-License-Identifier: Apache-2.0
// The calibrator against clocks whose step is known, and the rules that follow from it.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "core/batch.hpp"
#include "core/calibration.hpp"

using namespace slowpath;

namespace {

/// Reads true time, which passes by a cost with jitter at each call, in steps; now and then one step too far,
/// and now and then after a long interruption.
class FakeClock {
  public:
    FakeClock(double quantum_ns, double cost_ns, bool bumps)
        : quantum_ns_(quantum_ns), cost_ns_(cost_ns), bumps_(bumps) {}

    std::int64_t now_ns() {
        true_ns_ += cost_ns_ * (1.0 + 4.0 * uniform_(random_) * uniform_(random_));
        if (uniform_(random_) < 1e-4) true_ns_ += 5e4;
        double ticks = std::floor(true_ns_ / quantum_ns_);
        if (bumps_ && uniform_(random_) < 0.02) ticks += 1;
        const auto now = static_cast<std::int64_t>(std::floor(ticks * quantum_ns_));
        last_ns_ = now > last_ns_ ? now : last_ns_;
        return last_ns_;
    }

  private:
    double quantum_ns_;
    double cost_ns_;
    bool bumps_;
    double true_ns_ = 1e9;
    std::int64_t last_ns_ = 0;
    std::mt19937_64 random_{42};
    std::uniform_real_distribution<double> uniform_{0.0, 1.0};
};

TEST(Clock, CalibrationFindsTheQuantum) {
    for (const double quantum_ns : {1.0, 10.0, 25.0, 41.67, 1000.0}) {
        for (const bool bumps : {false, true}) {
            for (const double cost_ns : {12.0, 23.0, 40.0}) {
                FakeClock clock(quantum_ns, cost_ns, bumps);
                const Calibration found = calibrate(clock);
                const double off_ns = std::abs(static_cast<double>(found.quantum_ns) - quantum_ns);
                EXPECT_LE(off_ns, 1.0)
                    << "quantum " << quantum_ns << " ns, a reading costs " << cost_ns << " ns";
                const double mean_ns = 2.0 * cost_ns;  // 1 + 4 * (1/2) * (1/2)
                EXPECT_LE(std::abs(static_cast<double>(found.overhead_ns) - mean_ns), 0.25 * mean_ns);
                EXPECT_GE(found.max_gap_ns, 50'000 - 2 * static_cast<std::int64_t>(quantum_ns));
            }
        }
    }
}

/// Reads the real clock many times for one reading.
class CostlyClock {
  public:
    std::int64_t now_ns() {
        for (int i = 1; i < readings; ++i) static_cast<void>(clock_.now_ns());
        return clock_.now_ns();
    }
    static constexpr int readings = 20;

  private:
    MonotonicClock clock_;
};

TEST(Clock, TheRealClockIsFineEnough) {
    MonotonicClock clock;
    EXPECT_LE(calibrate(clock).quantum_ns, coarsest_quantum_ns);
}

/// Medians of a thousand readings each, which load of the machine hardly moves.
TEST(Clock, ACostlyClockHasTheOverheadOfItsReadings) {
    MonotonicClock clock;
    CostlyClock costly;
    EXPECT_GT(calibrate(costly).overhead_ns, CostlyClock::readings / 4 * calibrate(clock).overhead_ns);
}

TEST(Clock, QuantumOfOddInput) {
    EXPECT_EQ(quantum_from({}), 1);
    const std::vector<std::int64_t> still(1000, 0);
    EXPECT_EQ(quantum_from(still), 1);
    std::vector<std::int64_t> coarse(5000, 0);  // a clock of 4 ms that moved once
    coarse[17] = 4'000'000;
    EXPECT_EQ(quantum_from(coarse), 4'000'000);
}

TEST(Clock, BatchesReachQuantaAndOverheads) {
    const Calibration calibration{10, 30, 0};  // 1000 ns or 1500 ns: the latter
    EXPECT_EQ(batch_size(1500, calibration), 1);
    EXPECT_EQ(batch_size(1499, calibration), 2);
    EXPECT_EQ(batch_size(100, calibration), 16);
    EXPECT_EQ(batch_size(0, calibration), 2048);
    EXPECT_EQ(batch_size(100, {1000, 1, 0}), 1024);
    EXPECT_EQ(batch_size(0.5, {1'000'000'000, 1, 0}), largest_batch);
}

TEST(Clock, Budgets) {
    EXPECT_EQ(sample_budget(1000, 0.1, 200).samples, 200);
    EXPECT_FALSE(sample_budget(1000, 0.1, 200).cut_by_time);
    EXPECT_EQ(sample_budget(1e6, 0.1, 200).samples, 100);
    EXPECT_TRUE(sample_budget(1e6, 0.1, 200).cut_by_time);
    EXPECT_EQ(sample_budget(1e9, 0.1, 200).samples, 8);
    EXPECT_EQ(sample_budget(1e9, 0.1, 3).samples, 3);
    EXPECT_EQ(sample_budget(0, 0, 5).samples, 5);
}

TEST(Clock, TheCentralMeanSeesBetweenSteps) {
    const std::vector<std::int64_t> stepped{90, 100, 100, 100, 110, 110, 110, 9000};
    EXPECT_LT(std::abs(central_mean_ns(stepped) - 105.0), 1e-9);
    const std::vector<std::int64_t> one{7};
    EXPECT_EQ(central_mean_ns(one), 7.0);
}

TEST(Clock, TheFastestQuarterIsUndisturbed) {
    const std::vector<std::int64_t> disturbed{24000, 310, 51000, 43000, 25000, 330, 38000, 24000};
    EXPECT_EQ(fastest_quarter_ns(disturbed), 320.0);
    const std::vector<std::int64_t> one{7};
    EXPECT_EQ(fastest_quarter_ns(one), 7.0);
}

}  // namespace
