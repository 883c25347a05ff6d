// SPDX-License-Identifier: Apache-2.0
/// What recording costs a call, beyond the two readings of the clock: SLOWPATH_WATCH=FOLDER bench_recorder
/// [CALLS]. Medians over blocks, so that a neighbour's load is left out.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "watch/tests/fake_mpi.hpp"

using namespace slowpath::watch;
using fake_mpi::word;

namespace {

constexpr int block = 4096;

template <typename Body>
double median_ns(long calls, Body body) {
    std::vector<double> blocks;
    for (long done = 0; done < calls; done += block) {
        const auto since = std::chrono::steady_clock::now();
        for (int one = 0; one < block; ++one) body(one);
        blocks.push_back(
            std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - since).count() /
            block);
    }
    std::nth_element(blocks.begin(), blocks.begin() + static_cast<long>(blocks.size() / 2), blocks.end());
    return blocks[blocks.size() / 2];
}

struct Empty {
    void operator()(Word*) const {}
};

/// The wrapper's work without a recorder: two readings of the clock.
void unrecorded() {
    const volatile std::uint64_t start = now_ticks();
    const volatile std::uint64_t end = now_ticks();
    static_cast<void>(start + end);
}

}  // namespace

int main(int count, char** words) {
    const long calls = count > 1 ? std::atol(words[1]) : 4'000'000;
    begin_record();
    static char buffer[1 << 20];
    const double clock_ns = median_ns(calls, [](int) { unrecorded(); });
    const Word data = word(buffer);
    fake_mpi::Status status{100, 0, 1, 7, 0};
    const auto print = [clock_ns](const char* what, double ns) {
        std::printf("%-34s %6.1f ns\n", what, ns - clock_ns);
    };
    std::printf("two readings of the clock          %6.1f ns\n", clock_ns);
    print("MPI_Comm_rank", median_ns(calls, [&](int) {
              fake_mpi::call(calls::MPI_Comm_rank, {fake_mpi::comm_world, data}, Empty{}, 100, 1);
          }));
    print("MPI_Send", median_ns(calls, [&](int) {
              fake_mpi::call(calls::MPI_Send, {data, 100, fake_mpi::type_char, 1, 7, fake_mpi::comm_world},
                             Empty{}, 100, 2);
          }));
    print("MPI_Send, 8 peers and 8 lengths", median_ns(calls, [&](int one) {
              fake_mpi::call(calls::MPI_Send,
                             {data, Word{1} << (one % 8), fake_mpi::type_char, static_cast<Word>(one / 8 % 8),
                              7, fake_mpi::comm_world},
                             Empty{}, 100, 3);
          }));
    print("MPI_Recv", median_ns(calls, [&](int) {
              fake_mpi::call(calls::MPI_Recv,
                             {data, 100, fake_mpi::type_char, 1, 7, fake_mpi::comm_world, word(&status)},
                             Empty{}, 100, 4);
          }));
    print("MPI_Irecv + MPI_Wait, each",
          median_ns(calls / 2, [&](int) {
              std::uint32_t request = 0;
              fake_mpi::call(
                  calls::MPI_Irecv,
                  {data, 100, fake_mpi::type_char, 1, 7, fake_mpi::comm_world, word(&request)},
                  [&](Word*) { request = 0x98000001; }, 100, 5);
              fake_mpi::call(
                  calls::MPI_Wait, {word(&request), word(&status)},
                  [&](Word*) { request = fake_mpi::request_null; }, 100, 6);
          }) / 2);
    print("MPI_Allreduce", median_ns(calls, [&](int) {
              fake_mpi::call(calls::MPI_Allreduce,
                             {data, data + 4096, 8, fake_mpi::type_char, 0x58000003, fake_mpi::comm_world},
                             Empty{}, 100, 7);
          }));
    end_record();
    return 0;
}
