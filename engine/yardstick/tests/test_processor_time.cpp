// SPDX-License-Identifier: Apache-2.0
// Two stretches of known work: both take processor time, and the record says what the kernel made of each.
#include <gtest/gtest.h>

#include "yardstick/processor_time.hpp"

using namespace slowpath::yardstick;

TEST(ProcessorTime, BothStretchesRun) {
    // getrusage never takes back what it said, and the two together are what the thread ran: up to a whole
    // tick late.
    std::int64_t user_ns = 0, kernel_ns = 0;
    for (int i = 0; i < 8; ++i) {
        const ProcessorTime user = of_user_work(), kernel = of_kernel_work();
        EXPECT_GE(user.user_ns, 0);
        EXPECT_GE(user.system_ns, 0);
        user_ns += user.user_ns + user.system_ns;
        kernel_ns += kernel.user_ns + kernel.system_ns;
    }
    EXPECT_GT(user_ns, 0);
    EXPECT_GT(kernel_ns, 0);
}

TEST(ProcessorTime, TheLineHasBoth) {
    const std::string line = processor_time_line(3);
    EXPECT_EQ(line.rfind("processor_time \"rank\": 3, \"user_work_user_ns\": ", 0), 0) << line;
    for (const char* key : {"user_work_system_ns", "kernel_work_user_ns", "kernel_work_system_ns"})
        EXPECT_NE(line.find(key), std::string::npos) << line;
}
