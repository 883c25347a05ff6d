// SPDX-License-Identifier: Apache-2.0
/// From addresses of a process to libraries and functions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "counting/counter.hpp"
#include "counting/elf_file.hpp"
#include "counting/mappings.hpp"

namespace slowpath::counting {

struct Place {
    std::string library;   ///< file name without folder; "[vdso]", "?"
    std::string function;  ///< name, "LIBRARY+0xOFFSET" or "?"
};

class Names {
  public:
    explicit Names(std::vector<Mapping> mappings) : mappings_(std::move(mappings)) {}

    Place at(std::uint64_t address);

    /// How many of the addresses lie in which function, most first; equal ones by name.
    /// @param addresses Sorted.
    std::vector<Share> shares(std::span<const std::uint64_t> addresses);

  private:
    const ElfFile& file(const std::string& path);

    std::vector<Mapping> mappings_;
    std::map<std::string, std::unique_ptr<ElfFile>> files_;
};

/// The function at `offset` of a file.
Place place_in(const ElfFile& file, const std::string& path, std::uint64_t offset);

}  // namespace slowpath::counting
