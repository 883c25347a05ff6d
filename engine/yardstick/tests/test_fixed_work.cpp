// SPDX-License-Identifier: Apache-2.0
// The same work again and again: how often, in what order, and what the record says of it.
#include <gtest/gtest.h>

#include <algorithm>

#include "core/work.hpp"
#include "tests/text.hpp"
#include "yardstick/fixed_work.hpp"

using namespace slowpath;
using yardstick::FixedWork;

namespace {

/// The numbers of one list of a line.
std::vector<std::int64_t> numbers(const std::string& line, const std::string& key) {
    const std::size_t at = line.find("\"" + key + "\": [");
    std::vector<std::int64_t> found;
    if (at == std::string::npos) return found;
    const std::size_t open = line.find('[', at);
    std::string text = line.substr(open + 1, line.find(']', open) - open - 1);
    std::replace(text.begin(), text.end(), ',', ' ');
    const char* from = text.c_str();
    for (char* end = nullptr; *from != 0; from = end) found.push_back(std::strtoll(from, &end, 10));
    return found;
}

TEST(FixedWork, KeepsEverySampleWithItsBegin) {
    FixedWork work;
    work.visit(5);
    work.visit(2);
    const std::string line = work.line(3);
    EXPECT_EQ(line.rfind("fixed_work \"rank\": 3, \"steps\": 8192, \"t0_ns\": ", 0), 0) << line;
    EXPECT_EQ(numbers(line, "visits"), (std::vector<std::int64_t>{5, 2}));
    const auto begins = numbers(line, "begins_ns"), durations = numbers(line, "durations_ns");
    ASSERT_EQ(begins.size(), 7);
    ASSERT_EQ(durations.size(), 7);
    EXPECT_EQ(begins[0], 0);
    for (std::size_t i = 0; i + 1 < begins.size(); ++i) EXPECT_GE(begins[i + 1], begins[i] + durations[i]);
    for (const std::int64_t duration : durations) EXPECT_GT(duration, 0);
}

TEST(FixedWork, NothingSampledIsNoLine) {
    EXPECT_EQ(FixedWork().line(0), "");
}

TEST(FixedWork, TimeGrowsWithTheCountOfSteps) {
    const MonotonicClock clock;
    const auto least_ns = [&](std::int64_t steps) {
        std::int64_t least = INT64_MAX;
        for (int i = 0; i < 200; ++i) {
            const std::int64_t begin = clock.now_ns();
            compute(steps);
            least = std::min(least, clock.now_ns() - begin);
        }
        return static_cast<double>(least);
    };
    // No step is left out, and nothing but the steps takes time: four times the steps, about four times the
    // time.
    const double ratio = least_ns(4 * yardstick::fixed_work_steps) / least_ns(yardstick::fixed_work_steps);
    EXPECT_GT(ratio, 3);
    EXPECT_LT(ratio, 5);
}

TEST(FixedWork, LargeJobsSampleAtBothEnds) {
    EXPECT_TRUE(yardstick::samples_fixed_work(0, 2) && yardstick::samples_fixed_work(63, 64));
    EXPECT_TRUE(yardstick::samples_fixed_work(31, 1000) && yardstick::samples_fixed_work(968, 1000));
    EXPECT_FALSE(yardstick::samples_fixed_work(32, 1000) || yardstick::samples_fixed_work(967, 1000));
}

}  // namespace
