// SPDX-License-Identifier: Apache-2.0
/// Another process's memory, by /proc/PID/mem: its tracer may write what the process itself may not.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace slowpath::counting::ptrace {

class Memory {
  public:
    explicit Memory(pid_t process);
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// @return Bytes that could be read, at most `bytes`.
    std::size_t read(std::uint64_t address, void* to, std::size_t bytes) const;
    bool write(std::uint64_t address, const void* from, std::size_t bytes) const;

    template <class T>
    std::optional<T> value(std::uint64_t address) const {
        T found{};
        if (read(address, &found, sizeof found) != sizeof found) return std::nullopt;
        return found;
    }

  private:
    int file_;
};

}  // namespace slowpath::counting::ptrace
