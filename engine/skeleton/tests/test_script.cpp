// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"
#include "skeleton/script.hpp"

namespace slowpath::skeleton {
namespace {

const std::string head =
    "slowpath-skeleton 1\nrank 1 of 3\nrequests 2\ncommunicator 0 1 2\ncommunicator\nbuffer 64\n";

TEST(Script, HoldsItsOperationsInOrder) {
    const Script script =
        parse(head + "compute 1500\nirecv 0 2 7 64 0 1\nsend 0 0 3 8 -1\nwait 1\nallreduce 0 8\n");
    ASSERT_EQ(script.operations.size(), 5U);
    EXPECT_EQ(script.operations[0].length_ns, 1500);
    EXPECT_EQ(script.operations[1].kind, Kind::irecv);
    EXPECT_EQ(script.operations[1].first.peer, 2);
    EXPECT_EQ(script.operations[1].requests, std::vector<int>{1});
    EXPECT_EQ(script.operations[2].first.buffer, -1);
    EXPECT_EQ(script.operations[3].requests, std::vector<int>{1});
    EXPECT_EQ(script.operations[4].first.bytes, 8);
}

class Refused : public testing::TestWithParam<const char*> {};

TEST_P(Refused, WithTheNumberOfItsLine) {
    try {
        parse(head + GetParam() + "\n");
        FAIL() << GetParam();
    } catch (const EnvironmentFailure& error) {
        EXPECT_NE(std::string(error.what()).find("line 7 "), std::string::npos) << error.what();
    }
}

INSTANTIATE_TEST_SUITE_P(Lines, Refused,
                         testing::Values("walk 1", "compute -1", "send 0 3 1 8 0", "send 0 0 1 65 0",
                                         "send 0 0 1 8 1", "send 1 0 1 8 0", "wait 2", "barrier 2",
                                         "barrier 0 0", "allreduce 0"));

TEST(Script, OfNobodyIsNone) {
    EXPECT_THROW(parse("slowpath-skeleton 1\n"), EnvironmentFailure);
    EXPECT_THROW(parse("slowpath-skeleton 2\n"), EnvironmentFailure);
}

}  // namespace
}  // namespace slowpath::skeleton
