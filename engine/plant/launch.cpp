// SPDX-License-Identifier: Apache-2.0
#include "plant/launch.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace slowpath::plant {
namespace {

/// FNV-1a with 64 bits: RFC 9923.
std::uint64_t hash(const char* text) {
    std::uint64_t bits = 0xcbf29ce484222325ULL;
    for (; *text != '\0'; ++text) bits = (bits ^ static_cast<unsigned char>(*text)) * 0x100000001b3ULL;
    return bits;
}

/// Field 22 of /proc/PID/stat (proc(5)), in ticks since boot; empty where it can't be read. Fields are
/// counted behind the name of the program, which may hold blanks.
void start_of(pid_t process, char (&text)[1024]) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
    if (file >= 0) close(file);
    text[got > 0 ? got : 0] = '\0';
    const char* at = std::strrchr(text, ')');
    for (int field = 2; at != nullptr && field < 22; ++field) {
        at = std::strchr(at + 1, ' ');
    }
    if (at == nullptr) {
        text[0] = '\0';
        return;
    }
    const std::size_t length = std::strcspn(at + 1, " ");
    std::memmove(text, at + 1, length);
    text[length] = '\0';
}

}  // namespace

std::uint64_t launch_number() {
    for (const char* const name : {"SLOWPATH_PLANT_LAUNCH", "PMIX_NAMESPACE"})
        if (const char* const value = std::getenv(name)) return hash(value);
    char started[1024];
    start_of(getppid(), started);
    char text[1100];
    std::snprintf(text, sizeof text, "%d %s", static_cast<int>(getppid()), started);
    return hash(text);
}

}  // namespace slowpath::plant
