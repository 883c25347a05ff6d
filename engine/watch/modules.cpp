// SPDX-License-Identifier: Apache-2.0
#include "watch/modules.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/spin.hpp"

namespace slowpath::watch {
namespace {

struct Module {
    std::uintptr_t begin, end;
    bool is_mpi;
};

constinit Module modules[4096]{};
constinit std::uint32_t module_count = 0;
constinit SpinLock module_lock{};

bool is_mpi_path(const char* path) {
    const char* slash = std::strrchr(path, '/');
    const char* name = slash == nullptr ? path : slash + 1;
    return std::strncmp(name, "libmpi", 6) == 0 || std::strncmp(name, "libslowpath-watch", 17) == 0 ||
           (library().path[0] != '\0' && std::strcmp(path, library().path) == 0);
}

/// A line of /proc/self/maps: BEGIN-END rwxp OFFSET DEVICE INODE PATH.
void note_line(const char* line) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoul(line, &rest, 16);
    if (*rest != '-') return;
    const std::uintptr_t end = std::strtoul(rest + 1, &rest, 16);
    if (rest[0] != ' ' || rest[3] != 'x' || module_count == sizeof modules / sizeof modules[0]) return;
    for (std::uint32_t at = 0; at < module_count; ++at)
        if (modules[at].begin == begin && modules[at].end == end) return;
    const char* path = std::strchr(rest, '/');
    modules[module_count++] = {begin, end, path != nullptr && is_mpi_path(path)};
    write_text("map", line);
}

const Module* find(std::uintptr_t address) {
    for (std::uint32_t at = 0; at < module_count; ++at)
        if (address >= modules[at].begin && address < modules[at].end) return &modules[at];
    return nullptr;
}

}  // namespace

void note_modules() {
    const SpinGuard guard(module_lock);
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static constinit char text[16384]{};
    std::size_t held = 0;
    for (ssize_t got; (got = read(file, text + held, sizeof text - 1 - held)) > 0;) {
        held += static_cast<std::size_t>(got);
        text[held] = '\0';
        char* line = text;
        for (char* end; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
            *end = '\0';
            note_line(line);
        }
        held = static_cast<std::size_t>(text + held - line);
        std::memmove(text, line, held);
        if (held == sizeof text - 1) held = 0;
    }
    close(file);
}

bool is_noted(std::uintptr_t address) {
    return find(address) != nullptr;
}

bool is_mpi(std::uintptr_t address) {
    const Module* module = find(address);
    return module != nullptr && module->is_mpi;
}

void begin_modules() {
    module_count = 0;
    note_modules();
}

}  // namespace slowpath::watch
