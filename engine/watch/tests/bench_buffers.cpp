// SPDX-License-Identifier: Apache-2.0
/// What a look at a buffer costs, and what the watched malloc and free do: ns, the least of 15 rounds.
#include <sys/mman.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <vector>

#include "kept_rows.hpp"
#include "watch/allocations.hpp"
#include "watch/buffers.hpp"
#include "watch/maps.hpp"

namespace {

using namespace slowpath::watch;

double now_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e9 * static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec);
}

template <class Work>
double least_ns(int count, Work work) {
    double least = 1e18;
    for (int round = 0; round < 15; ++round) {
        const double begin = now_ns();
        for (int i = 0; i < count; ++i) work(i);
        least = std::min(least, (now_ns() - begin) / count);
    }
    return least;
}

void views(std::size_t buffers) {
    std::vector<char*> blocks;
    for (std::size_t i = 0; i < buffers; ++i) blocks.push_back(static_cast<char*>(std::calloc(1, 100000)));
    unsigned sum = 0;
    const double ns = least_ns(200000, [&](int i) {
        sum += view_buffer(blocks[static_cast<std::size_t>(i) % buffers], 1000, 1).buffer_class;
    });
    std::printf("view of one of %zu known buffers: %.1f ns (%u)\n", buffers, ns, sum & 1);
    for (char* const block : blocks) std::free(block);
}

}  // namespace

int main() {
    keep_rows_anew();
    for (const std::size_t buffers : {1, 12, 100, 1000, 10000}) views(buffers);
    static std::vector<char*> fresh(3000);
    for (char*& block : fresh) std::memset(block = static_cast<char*>(std::malloc(100000)), 1, 100000);
    std::vector<double> each;
    for (char* const block : fresh) {
        const double begin = now_ns();
        view_buffer(block, 1000, 1);
        each.push_back(now_ns() - begin);
    }
    std::sort(each.begin(), each.end());
    std::printf("first view of a block of malloc, median: %.0f ns\n", each[each.size() / 2]);
    volatile unsigned long sum = 0;
    const auto stack = reinterpret_cast<Address>(&sum);
    std::printf("a question to the kernel: %.0f ns\n",
                least_ns(2000, [&](int) { sum = sum + region_of(stack).kind; }));
    use_text_only(true);
    std::printf("the same by /proc/self/maps: %.0f ns\n",
                least_ns(200, [&](int) { sum = sum + region_of(stack).kind; }));
    void* volatile block = nullptr;
    std::printf("free(malloc(64)): %.1f ns\n", least_ns(200000, [&](int) {
                    block = std::malloc(64);
                    std::free(block);
                }));
    return 0;
}
