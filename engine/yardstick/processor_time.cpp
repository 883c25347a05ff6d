// SPDX-License-Identifier: Apache-2.0
#include "yardstick/processor_time.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include "core/clock.hpp"
#include "core/json.hpp"
#include "core/work.hpp"

namespace slowpath::yardstick {
namespace {

constexpr std::int64_t stretch_ns = 1'500'000;
constexpr std::size_t mapped_bytes = std::size_t{256} * 1024;

ProcessorTime now() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto ns = [](const timeval& time) {
        return std::int64_t{time.tv_sec} * 1'000'000'000 + std::int64_t{time.tv_usec} * 1'000;
    };
    return {ns(used.ru_utime), ns(used.ru_stime)};
}

template <class Work>
ProcessorTime during(Work&& work) {
    const MonotonicClock clock;
    const ProcessorTime before = now();
    const std::int64_t end_ns = clock.now_ns() + stretch_ns;
    while (clock.now_ns() < end_ns) work();
    const ProcessorTime after = now();
    return {after.user_ns - before.user_ns, after.system_ns - before.system_ns};
}

}  // namespace

ProcessorTime of_user_work() {
    return during([] { compute(8192); });
}

ProcessorTime of_kernel_work() {
    return during([] {
        void* const pages = mmap(nullptr, mapped_bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
        if (pages != MAP_FAILED) munmap(pages, mapped_bytes);
    });
}

std::string processor_time_line(int rank) {
    const ProcessorTime user = of_user_work(), kernel = of_kernel_work();
    JsonObject event;
    event.integer("rank", rank);
    event.integer("user_work_user_ns", user.user_ns).integer("user_work_system_ns", user.system_ns);
    event.integer("kernel_work_user_ns", kernel.user_ns).integer("kernel_work_system_ns", kernel.system_ns);
    return "processor_time " + event.fields() + "\n";
}

}  // namespace slowpath::yardstick
