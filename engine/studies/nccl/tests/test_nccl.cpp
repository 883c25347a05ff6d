// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "nccl/nccl_library.hpp"
#include "nccl/operation.hpp"
#include "nccl/package_files.hpp"

namespace slowpath::nccl {
namespace {

constexpr const char* line =
    "host:1:2 [0] NCCL INFO Init timings - ncclCommInitRank: rank 0 nranks 2 total 1.16 (kernels 0.20, alloc "
    "0.67, "
    "bootstrap 0.06, allgathers 0.01, topo 0.03, graphs 0.00, connections 0.18, rest 0.01)\n";

TEST(InitTimings, EachWordIsAPart) {
    const std::map<Part, double> found = read_init_timings(line);
    ASSERT_EQ(found.size(), init_words.size() + 1);
    EXPECT_DOUBLE_EQ(found.at(Part::init_total), 1.16);
    EXPECT_DOUBLE_EQ(found.at(Part::init_kernels), 0.20);
    EXPECT_DOUBLE_EQ(found.at(Part::init_alloc), 0.67);
    EXPECT_DOUBLE_EQ(found.at(Part::init_graphs), 0.0);
    EXPECT_DOUBLE_EQ(found.at(Part::init_rest), 0.01);
}

TEST(InitTimings, TheLastLineCountsAndOthersDoNotMatter) {
    const std::string two =
        std::string(5, '\0') + line + "x (kernels 9.00)\nInit timings - n: total 0.5 (alloc 0.50)";
    const std::map<Part, double> found = read_init_timings(two + "\nConnected (alloc 7.00)\n");
    ASSERT_EQ(found.size(), 2U);
    EXPECT_DOUBLE_EQ(found.at(Part::init_alloc), 0.50);
    EXPECT_DOUBLE_EQ(found.at(Part::init_total), 0.5);
}

TEST(InitTimings, WhatIsNoNumberIsMissing) {
    EXPECT_TRUE(read_init_timings("").empty());
    EXPECT_TRUE(read_init_timings("Init timings - total none\n(alloc 0.67)").empty());
    EXPECT_TRUE(read_init_timings("Init timings - total x (unalloc 0.67)").empty());
    EXPECT_TRUE(read_init_timings("Init timings (alloc none, unalloc 0.67, topo -1)").empty());
    EXPECT_TRUE(read_init_timings("Init timings ) (").empty());
}

TEST(PackageFiles, PackagesThenInterpretersInTheirOrder) {
    namespace fs = std::filesystem;
    const fs::path root = fs::path(testing::TempDir()) / "slowpath_nccl_packages";
    fs::remove_all(root);
    const auto put = [&](const char* where) {
        fs::create_directories((root / where).parent_path());
        std::ofstream(root / where) << "x";
    };
    put("a/lib/python3.9/site-packages/n/l.so");
    put("a/lib/python3.12/site-packages/n/other.so");
    put("b/lib64/python3.12/site-packages/n/l.so");
    put("more/n/l.so");
    fs::create_directories(root / "a/bin");
    const std::string r = root.string();
    const std::vector<std::string> found =
        package_files(":" + r + "/more:", "/nowhere/bin:" + r + "/a/bin:" + r + "/b/bin", "n/l.so");
    EXPECT_EQ(found,
              (std::vector<std::string>{r + "/more/n/l.so", r + "/a/lib/python3.9/site-packages/n/l.so",
                                        r + "/b/lib64/python3.12/site-packages/n/l.so"}));
    fs::remove_all(root);
}

TEST(Operations, OnlyThoseThatGetSomethingHaveRoomForIt) {
    const Call root{Operation::bcast, 10, 3, 0}, other{Operation::bcast, 10, 3, 2},
        late{Operation::send, 10, 3, 2};
    EXPECT_EQ(root.sent(), 10);
    EXPECT_EQ(root.received(), 0);
    EXPECT_EQ(other.received(), 10);
    EXPECT_FALSE(late.takes_part());
    EXPECT_EQ((Call{Operation::alltoall, 10, 3, 1}).sent(), 30);
}

TEST(Operations, WhatIsExpectedFollowsFromWhatIsGiven) {
    const Call scattered{Operation::reduce_scatter, 5, 3, 1};
    EXPECT_EQ(expected(scattered, 2, 9), given(0, 7, 9) + given(1, 7, 9) + given(2, 7, 9));
    const Call swapped{Operation::alltoall, 5, 3, 1};
    EXPECT_EQ(expected(swapped, 12, 9), given(2, 7, 9));
    EXPECT_EQ(expected(Call{Operation::allgather, 5, 3, 1}, 12, 9), given(2, 2, 9));
    // Another rank's, another place's or an earlier call's numbers must not pass.
    EXPECT_NE(given(0, 3, 1), given(1, 3, 1));
    EXPECT_NE(given(0, 3, 1), given(0, 4, 1));
    EXPECT_NE(given(0, 3, 1), given(0, 3, 2));
}

}  // namespace
}  // namespace slowpath::nccl
