// SPDX-License-Identifier: Apache-2.0
#include "replace/report_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>

namespace slowpath::replace {

namespace {

constexpr int pause_ms = 5;

/// A file system without locks has none to wait for.  @return False: another program holds it too long.
bool lock(int file) {
    for (int waited_ms = 0; flock(file, LOCK_EX | LOCK_NB) != 0; waited_ms += pause_ms) {
        if (errno != EWOULDBLOCK && errno != EINTR) return true;
        if (waited_ms >= patience_of_report_ms) return false;
        const timespec pause{0, pause_ms * 1'000'000L};
        nanosleep(&pause, nullptr);
    }
    return true;
}

bool write_all(int file, std::string_view text) {
    while (!text.empty()) {
        const ssize_t got = write(file, text.data(), text.size());
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return false;
        text.remove_prefix(static_cast<std::size_t>(got));
    }
    return true;
}

}  // namespace

bool write_report(const char* path, std::string_view text) {
    const int file = open(path, O_WRONLY | O_CREAT | O_NONBLOCK | O_CLOEXEC, 0666);
    if (file < 0) return false;
    struct stat status {};
    // Others, as a FIFO, have no length to cut.
    const bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    const bool is_written = lock(file) && (!is_regular || ftruncate(file, 0) == 0) && write_all(file, text);
    const int error = errno;
    close(file);
    errno = error;
    return is_written;
}

}  // namespace slowpath::replace
