// SPDX-License-Identifier: Apache-2.0
/// The functions of an ELF file of 64 bits: from its symbols (of a stripped file: those that the dynamic
/// linker needs), from symbols that were taken out of it (a separate file, .gnu_debugdata), else from its
/// unwind information.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace slowpath::counting {

class ElfFile {
  public:
    /// A range of addresses as the file counts them (before it is loaded anywhere).
    struct Function {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        std::string name;  ///< "" where only the unwind information knows it
    };

    /// @param path A file that is not ELF of 64 bits, or can't be read, has no functions.
    explicit ElfFile(const std::string& path);

    bool valid() const { return valid_; }
    bool is_program_at_fixed_address() const { return fixed_; }

    /// Address of the byte at `offset` of the file; nullopt: it is not loaded.
    std::optional<std::uint64_t> address_of_offset(std::uint64_t offset) const;

    /// "memcpy"; ".plt" for a stub; "+0x1234" (begin of the function) where no symbol names it; "?" where
    /// nothing does.
    std::string function_at(std::uint64_t address) const;

    /// Addresses of the functions of that name which the file defines; empty: none.
    std::vector<std::uint64_t> addresses_named(std::string_view name) const;

    /// Whether `name` is chosen among several when the file is loaded (STT_GNU_IFUNC).
    bool is_chosen_at_load(std::string_view name) const;

  private:
    struct Segment {
        std::uint64_t offset, address, bytes;
    };

    void read_segments(std::span<const std::uint8_t> image);
    void read_dynamic(std::span<const std::uint8_t> image);
    void read_sections(std::span<const std::uint8_t> image, const std::string& path);
    void read_symbols(std::span<const std::uint8_t> symbols, std::span<const std::uint8_t> strings,
                      std::span<const std::uint8_t> versions);
    void read_debug_symbols(std::span<const std::uint8_t> image);
    void sort_functions();
    std::optional<std::uint64_t> offset_of_address(std::uint64_t address) const;

    bool valid_ = false;
    bool fixed_ = false;
    std::vector<Segment> segments_;
    std::vector<Function> functions_;                           ///< disjoint, sorted by begin
    std::vector<std::pair<std::string, std::uint64_t>> names_;  ///< every name of every function
    std::vector<std::string> chosen_;
};

}  // namespace slowpath::counting
