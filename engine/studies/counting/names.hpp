// SPDX-License-Identifier: Apache-2.0
/// From addresses of this process to libraries and functions: by the symbols that a library's own file has
/// (of a stripped one: those that the dynamic linker needs), else by its unwind information.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "counting/counter.hpp"

namespace slowpath::counting {

/// An executable line of /proc/self/maps (proc_pid_maps(5)).
struct Mapping {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    std::uint64_t offset = 0;  ///< of `begin` in the file
    std::string path;          ///< "" for memory without a file; "[vdso]" and the like for the kernel's
};

/// @throws EnvironmentFailure: /proc can't be read.
std::vector<Mapping> executable_mappings();

struct Place {
    std::string library;   ///< file name without folder; "[vdso]", "?"
    std::string function;  ///< name, ".plt" for a stub, "LIBRARY+0xOFFSET" where no symbol names it, or "?"
};

class Names {
  public:
    explicit Names(std::vector<Mapping> mappings) : mappings_(std::move(mappings)) {}

    Place at(std::uint64_t address);

    /// How many of the addresses lie in which function, most first; equal ones by name.
    std::vector<Share> shares(std::span<const std::uint64_t> addresses);

  private:
    /// Addresses as the file counts them, before it is loaded anywhere.
    struct Function {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::string name;  ///< "" where only the unwind information knows it
    };
    struct Segment {
        std::uint64_t offset, address, bytes;
    };
    struct File {
        std::vector<Segment> segments;
        std::vector<Function> functions;  ///< sorted by begin, one for each
    };

    static File read(const std::string& path);
    static std::string function_at(const File& file, std::uint64_t offset);

    std::vector<Mapping> mappings_;
    std::map<std::string, File> files_;
};

}  // namespace slowpath::counting
