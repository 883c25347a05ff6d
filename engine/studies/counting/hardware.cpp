// SPDX-License-Identifier: Apache-2.0
#include "counting/hardware.hpp"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace slowpath::counting {
namespace {

int open_counter() {
    perf_event_attr about{};
    about.size = sizeof about;
    about.type = PERF_TYPE_HARDWARE;
    about.config = PERF_COUNT_HW_INSTRUCTIONS;
    about.disabled = 1;
    about.exclude_kernel = 1;
    about.exclude_hv = 1;
    return static_cast<int>(syscall(SYS_perf_event_open, &about, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

std::string why_refused(int error) {
    const std::string call = std::string("perf_event_open: ") + std::strerror(error);
    if (error == ENOENT || error == EOPNOTSUPP || error == ENODEV)
        return call + "; the kernel sees no counter of instructions, as in most virtual machines";
    if (error == EACCES || error == EPERM) {
        std::string level;
        std::ifstream("/proc/sys/kernel/perf_event_paranoid") >> level;
        return call + "; kernel.perf_event_paranoid is " + (level.empty() ? "not known" : level) +
               ", 2 or less is needed, and a container must not forbid the call";
    }
    return call;
}

}  // namespace

HardwareCount count_by_hardware(const std::function<void()>& region) {
    const int counter = open_counter();
    if (counter < 0) return {std::nullopt, why_refused(errno)};
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    region();
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t instructions = 0;
    const bool whole = read(counter, &instructions, sizeof instructions) == sizeof instructions;
    close(counter);
    if (!whole || instructions == 0)
        return {std::nullopt, "the counter of instructions could not be read, or never ran"};
    return {instructions, ""};
}

}  // namespace slowpath::counting
