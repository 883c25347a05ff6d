// SPDX-License-Identifier: Apache-2.0
// Agreement, gathering and our barrier, on as many ranks as the launcher gives.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "mpi/session.hpp"
#include "mpi/shared_release.hpp"
#include "mpi/together.hpp"
#include "tests/text.hpp"

using namespace slowpath;

namespace {

const mpi::Session* started = nullptr;

class MpiShell : public testing::Test {
  protected:
    const mpi::Session& session = *started;
};

TEST_F(MpiShell, TextsAgree) {
    EXPECT_FALSE(mpi::first_text(session.control(), std::nullopt));
    const int last = session.size() - 1;
    std::optional<std::string> mine;
    if (session.rank() >= last / 2) mine = "rank " + std::to_string(session.rank());
    EXPECT_EQ(mpi::first_text(session.control(), mine), "rank " + std::to_string(last / 2));
    EXPECT_EQ(mpi::text_of_root(session.control(), session.rank() == 0 ? "root" : ""), "root");
}

TEST_F(MpiShell, NumbersAgree) {
    const std::array<std::int64_t, 2> mine{session.rank(), 1};
    EXPECT_EQ(mpi::reduce(session.control(), mine, MPI_SUM)[1], session.size());
    EXPECT_EQ(mpi::reduce(session.control(), mine, MPI_MAX)[0], session.size() - 1);
    const std::array ranks{session.size() - 1, 0};
    if (session.size() > 1 && (session.rank() == 0 || session.rank() == ranks[0])) {
        EXPECT_EQ(mpi::decision_of_first(session.control(), ranks, 100 + session.rank()), 100 + ranks[0]);
    }
}

TEST_F(MpiShell, AllBytesArrive) {
    // Rank r brings r * 1000 bytes of value r; rank 0 brings none.
    const std::vector<std::byte> mine(static_cast<std::size_t>(session.rank()) * 1000,
                                      static_cast<std::byte>(session.rank()));
    std::vector<int> seen;
    mpi::gather(session.control(), mine, [&](int rank, std::span<const std::byte> bytes) {
        EXPECT_TRUE(!seen.empty() || rank == 0);
        seen.push_back(rank);
        EXPECT_EQ(bytes.size(), static_cast<std::size_t>(rank) * 1000);
        for (const std::byte byte : bytes) EXPECT_EQ(byte, static_cast<std::byte>(rank));
    });
    std::sort(seen.begin(), seen.end());  // they come node by node
    EXPECT_EQ(static_cast<int>(seen.size()), (session.rank() == 0 ? session.size() : 0));
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i], static_cast<int>(i));
}

/// Nobody leaves before the last one has come: the late rank's message is there already when the barrier
/// opens.
TEST_F(MpiShell, BarrierHolds) {
    std::vector<int> ranks;
    for (int rank = session.size() - 1; rank >= 0; --rank) ranks.push_back(rank);
    const mpi::Barrier barrier(session.control(), ranks);
    for (int late = 0; late < session.size(); ++late) {
        using clock = std::chrono::steady_clock;
        if (session.rank() == late) std::this_thread::sleep_for(std::chrono::milliseconds(20));
        std::int64_t entered = clock::now().time_since_epoch().count();
        barrier.wait();
        const std::int64_t left = clock::now().time_since_epoch().count();
        mpi::check(MPI_Bcast(&entered, 1, MPI_INT64_T, late, session.control()), "MPI_Bcast");
        EXPECT_GE(left, entered);
    }
}

TEST_F(MpiShell, BarrierBringsTheLargestNumbers) {
    std::vector<int> ranks;
    for (int rank = 0; rank < session.size(); ++rank) ranks.push_back(rank);
    const mpi::Barrier barrier(session.control(), ranks);
    std::array<std::int64_t, 2> numbers{session.rank(), -session.rank()};
    barrier.wait(numbers);
    EXPECT_EQ(numbers[0], session.size() - 1);
    EXPECT_EQ(numbers[1], 0);
}

TEST_F(MpiShell, EnoughIsSaidToAll) {
    mpi::SharedRelease release(session.control());
    EXPECT_TRUE(release.one_clock());
    EXPECT_FALSE(release.wait().enough);
    EXPECT_TRUE(release.wait(session.rank() == 0).enough);
    EXPECT_FALSE(release.wait().enough);
}

TEST_F(MpiShell, ErrorsThrow) {
    int number = 0;
    const std::string text = test::thrown<mpi::Error>([&] {
        mpi::check(MPI_Send(&number, 1, MPI_INT, session.size() + 5, 0, session.control()), "MPI_Send");
    });
    EXPECT_TRUE(text.starts_with("MPI_Send: "));
    EXPECT_GT(text.size(), 12);
}

TEST_F(MpiShell, MemoryComesFromMpi) {
    void* const memory = mpi::allocate_memory(4096);
    EXPECT_NE(memory, nullptr);
    mpi::free_memory(memory);
    EXPECT_FALSE(mpi::library_version().empty());
}

}  // namespace
/// All ranks run the same tests in the same order; the job fails if one of its ranks does.
int main(int argc, char** argv) {
    testing::InitGoogleTest(&argc, argv);
    GTEST_FLAG_SET(catch_exceptions, false);  // the other ranks would wait for one that goes on
    mpi::Session session;
    started = &session;
    const std::array<std::int64_t, 1> mine{RUN_ALL_TESTS()};
    const bool bad = mpi::reduce(session.control(), mine, MPI_SUM)[0] != 0;
    session.finish();
    return bad ? 1 : 0;
}
