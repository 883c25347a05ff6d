// SPDX-License-Identifier: Apache-2.0
// Plain loops under every set of options, pieces of a panel, and the clock that is read next to them.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "cannon/multiply.hpp"

namespace {

using namespace slowpath::cannon;

TEST(CannonKernels, EveryLoopAddsTheSameProduct) {
    constexpr int m = 5, n = 3, k = 4, ldb = 6;
    std::vector<double> a(m * k), b(ldb * n), expected(m * n, 1.0);
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<double>(i % 7) - 3;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 5) - 2;
    for (int column = 0; column < n; ++column)
        for (int row = 0; row < m; ++row)
            for (int inner = 0; inner < k; ++inner)
                expected[row + m * column] += a[row + m * inner] * b[inner + ldb * column];
    int loops = 0;
    for (const Kernel& kernel : kernels()) {
        if (kernel.loop == nullptr) continue;
        ++loops;
        std::vector<double> c(m * n, 1.0);
        kernel.loop(m, n, k, a.data(), b.data(), ldb, c.data());
        EXPECT_EQ(c, expected) << kernel.name;
    }
    EXPECT_EQ(loops, 4);
    EXPECT_EQ(kernels().front().loop, nullptr);
}

TEST(CannonMultiply, APanelIsAlwaysCutUnlessItHasOneColumn) {
    EXPECT_EQ(columns_of_piece(1024, 384), 384);
    EXPECT_EQ(columns_of_piece(384, 384), 192);
    EXPECT_EQ(columns_of_piece(64, 384), 32);
    EXPECT_EQ(columns_of_piece(5, 384), 3);
    EXPECT_EQ(columns_of_piece(2, 384), 1);
    EXPECT_EQ(columns_of_piece(1, 384), 1);
}

TEST(CannonMultiply, PokesBetweenPieces) {
    for (const auto& [n, pokes] : {std::pair<std::int64_t, int>{800, 2}, {64, 1}, {4, 1}, {2, 0}}) {
        const Layout layout = ring(n, 2, 0);
        Timeline timeline(100);
        std::vector<double> a(static_cast<std::size_t>(n * n)), b(a), c(a);
        Multiply multiply(layout, nullptr, loop_O2, timeline, 150);
        int poked = 0;
        multiply.in_pieces(0, a.data(), b.data(), c.data(), [&] { ++poked; });
        EXPECT_EQ(poked, pokes) << n;
        EXPECT_EQ(multiply.pieces(), pokes + 1) << n;
        EXPECT_EQ(timeline.intervals().size(), 2U * static_cast<std::size_t>(pokes) + 1) << n;
    }
}

TEST(CannonCycles, AnUnknownFrequencyIsMissing) {
    const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "cycles";
    EXPECT_EQ(cpufreq_hz(folder.c_str(), 0), std::nullopt);
    std::filesystem::create_directories(folder / "cpu3" / "cpufreq");
    std::ofstream(folder / "cpu3" / "cpufreq" / "scaling_cur_freq") << "2600000\n";
    EXPECT_EQ(cpufreq_hz(folder.c_str(), 3), 2.6e9);
    EXPECT_EQ(cpufreq_hz(folder.c_str(), 2), std::nullopt);
    std::filesystem::remove_all(folder);
}

TEST(CannonCycles, ReadOrReasoned) {
    const ClockReading found = read_clock();
    EXPECT_FALSE(found.from.empty());
    if (found.hz) EXPECT_GT(*found.hz, 0.0);
}

}  // namespace
