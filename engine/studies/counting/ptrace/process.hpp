// SPDX-License-Identifier: Apache-2.0
/// One traced process: its memory, its libraries and the breakpoints in it.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "counting/elf_file.hpp"
#include "counting/ptrace/memory.hpp"
#include "counting/ptrace/options.hpp"
#include "counting/ptrace/processor.hpp"
#include "counting/ptrace/record.hpp"

namespace slowpath::counting::ptrace {

enum class Purpose { entry, libraries_changed, function, resume };

/// Files are the same for all processes: each is read once.
class Files {
  public:
    const ElfFile& at(const std::string& path);

  private:
    std::map<std::string, std::unique_ptr<ElfFile>> files_;
};

class Process {
  public:
    Process(const Options& options, Files& files, pid_t process);
    /// A forked child: it has the parent's memory, breakpoints included, but counts for itself.
    Process(const Process& parent, pid_t process);

    pid_t id() const { return id_; }
    const Memory& memory() const { return memory_; }
    Record& record();

    /// After exec: nothing of the process is as before.
    void watch_entry();
    void watch_libraries();
    void look_for_function();

    std::optional<Purpose> purpose_at(std::uint64_t address) const;
    void place(std::uint64_t address, Purpose purpose);
    /// The instruction as it was, to be executed once; put_back() is the reverse.
    void lift(std::uint64_t address);
    void put_back(std::uint64_t address);
    void remove(std::uint64_t address);
    /// No more calls: all breakpoints go but those where calls under way go on.
    void stop_watching();

    struct Instruction {
        bool repeated = false;
        bool system_call = false;
    };
    Instruction instruction_at(std::uint64_t address);

    std::uint64_t calls = 0;
    void finish();

  private:
    using Code = std::array<std::uint8_t, Processor::breakpoint.size()>;
    struct Breakpoint {
        Purpose purpose;
        Code original;
    };

    const Options& options_;
    Files& files_;
    pid_t id_;
    Memory memory_;
    std::optional<Record> record_;
    std::map<std::uint64_t, Breakpoint> breakpoints_;
    std::set<std::string> looked_in_;
    std::map<std::uint64_t, Instruction> instructions_;
};

}  // namespace slowpath::counting::ptrace
