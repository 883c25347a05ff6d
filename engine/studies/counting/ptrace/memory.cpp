// SPDX-License-Identifier: Apache-2.0
#include "counting/ptrace/memory.hpp"

#include <fcntl.h>
#include <unistd.h>

namespace slowpath::counting::ptrace {

Memory::Memory(pid_t process)
    : file_(open(("/proc/" + std::to_string(process) + "/mem").c_str(), O_RDWR | O_CLOEXEC)) {}

Memory::~Memory() {
    if (file_ >= 0) close(file_);
}

std::size_t Memory::read(std::uint64_t address, void* to, std::size_t bytes) const {
    const ssize_t got = pread(file_, to, bytes, static_cast<off_t>(address));
    return got < 0 ? 0 : static_cast<std::size_t>(got);
}

bool Memory::write(std::uint64_t address, const void* from, std::size_t bytes) const {
    return pwrite(file_, from, bytes, static_cast<off_t>(address)) == static_cast<ssize_t>(bytes);
}

}  // namespace slowpath::counting::ptrace
