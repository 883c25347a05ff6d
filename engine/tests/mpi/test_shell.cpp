// SPDX-License-Identifier: Apache-2.0
// Agreement, gathering and our barrier, on as many ranks as the launcher gives.
#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "mpi/agree.hpp"
#include "mpi/barrier.hpp"
#include "mpi/check.hpp"
#include "mpi/gather.hpp"
#include "mpi/library.hpp"
#include "mpi/session.hpp"
#include "tests/check.hpp"

using namespace slowpath;

namespace {

void texts_agree(const mpi::Session& session) {
    CHECK(!mpi::first_text(session.control(), std::nullopt));
    const int last = session.size() - 1;
    std::optional<std::string> mine;
    if (session.rank() >= last / 2) mine = "rank " + std::to_string(session.rank());
    CHECK(mpi::first_text(session.control(), mine) == "rank " + std::to_string(last / 2));
    CHECK(mpi::text_of_root(session.control(), session.rank() == 0 ? "root" : "") == "root");
}

void numbers_agree(const mpi::Session& session) {
    const std::array<std::int64_t, 2> mine{session.rank(), 1};
    CHECK(mpi::reduce(session.control(), mine, MPI_SUM)[1] == session.size());
    CHECK(mpi::reduce(session.control(), mine, MPI_MAX)[0] == session.size() - 1);
    const std::array ranks{session.size() - 1, 0};
    if (session.size() > 1 && (session.rank() == 0 || session.rank() == ranks[0]))
        CHECK(mpi::decision_of_first(session.control(), ranks, 100 + session.rank()) == 100 + ranks[0]);
}

void all_bytes_arrive(const mpi::Session& session) {
    // Rank r brings r * 1000 bytes of value r; rank 0 brings none.
    const std::vector<std::byte> mine(static_cast<std::size_t>(session.rank()) * 1000,
                                      static_cast<std::byte>(session.rank()));
    std::vector<int> seen;
    mpi::gather(session.control(), mine, [&](int rank, std::span<const std::byte> bytes) {
        CHECK(!seen.empty() || rank == 0);
        seen.push_back(rank);
        CHECK(bytes.size() == static_cast<std::size_t>(rank) * 1000);
        for (const std::byte byte : bytes) CHECK(byte == static_cast<std::byte>(rank));
    });
    std::sort(seen.begin(), seen.end());  // they come node by node
    CHECK(static_cast<int>(seen.size()) == (session.rank() == 0 ? session.size() : 0));
    for (std::size_t i = 0; i < seen.size(); ++i) CHECK(seen[i] == static_cast<int>(i));
}

/// Nobody leaves before the last one has come: the late rank's message is there already when the barrier
/// opens.
void barrier_holds(const mpi::Session& session) {
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
        CHECK(left >= entered);
    }
}

void errors_throw(const mpi::Session& session) {
    int number = 0;
    const std::string text = test::thrown<mpi::Error>([&] {
        mpi::check(MPI_Send(&number, 1, MPI_INT, session.size() + 5, 0, session.control()), "MPI_Send");
    });
    CHECK(text.starts_with("MPI_Send: "));
    CHECK(text.size() > 12);
}

void memory_comes_from_mpi() {
    void* const memory = mpi::allocate_memory(4096);
    CHECK(memory != nullptr);
    mpi::free_memory(memory);
    CHECK(!mpi::library_version().empty());
}

}  // namespace

int main() {
    mpi::Session session;
    texts_agree(session);
    numbers_agree(session);
    all_bytes_arrive(session);
    barrier_holds(session);
    errors_throw(session);
    memory_comes_from_mpi();
    const std::array<std::int64_t, 1> mine{test::failures};
    const bool bad = mpi::reduce(session.control(), mine, MPI_SUM)[0] != 0;
    session.finish();
    return bad ? 1 : 0;
}
