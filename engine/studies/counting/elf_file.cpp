// SPDX-License-Identifier: Apache-2.0
#include "counting/elf_file.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <tuple>

#include "counting/debug_files.hpp"
#include "counting/frame_ranges.hpp"
#include "counting/unxz.hpp"

namespace slowpath::counting {
namespace {

using Bytes = std::span<const std::uint8_t>;

/// `count` structures from `offset` on; empty if the file is shorter.
template <class T>
std::vector<T> structures(Bytes image, std::uint64_t offset, std::uint64_t count) {
    if (offset > image.size() || count > (image.size() - offset) / sizeof(T)) return {};
    std::vector<T> found(count);
    if (count > 0) std::memcpy(found.data(), image.data() + offset, count * sizeof(T));
    return found;
}

Bytes part(Bytes image, const Elf64_Shdr& section) {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > image.size()) return {};
    return image.subspan(section.sh_offset,
                         std::min<std::uint64_t>(section.sh_size, image.size() - section.sh_offset));
}

std::string_view text_at(Bytes strings, std::uint64_t at) {
    if (at >= strings.size()) return {};
    const auto* const begin = reinterpret_cast<const char*>(strings.data() + at);
    return {begin, strnlen(begin, strings.size() - at)};
}

/// nullopt: no ELF file of 64 bits.
std::optional<Elf64_Ehdr> header_of(Bytes image) {
    const auto header = structures<Elf64_Ehdr>(image, 0, 1);
    if (header.empty() || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
    if (header[0].e_ident[EI_CLASS] != ELFCLASS64) return std::nullopt;
    return header[0];
}

std::string hexadecimal(std::uint64_t value) {
    char digits[2 + 16 + 1];
    std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
    return digits;
}

}  // namespace

ElfFile::ElfFile(const std::string& path) {
    const std::vector<std::uint8_t> image = file_content(path);
    const auto header = header_of(image);
    if (!header) return;
    valid_ = true;
    fixed_ = header->e_type == ET_EXEC;
    read_segments(image);
    if (header->e_shnum > 0)
        read_sections(image, path);
    else
        read_dynamic(image);
    sort_functions();
}

void ElfFile::read_segments(Bytes image) {
    const auto header = structures<Elf64_Ehdr>(image, 0, 1)[0];
    for (const auto& segment : structures<Elf64_Phdr>(image, header.e_phoff, header.e_phnum))
        if (segment.p_type == PT_LOAD)
            segments_.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz});
}

/// A file that was stripped of its sections, too, keeps what the dynamic linker needs.
void ElfFile::read_dynamic(Bytes image) {
    const auto header = structures<Elf64_Ehdr>(image, 0, 1)[0];
    std::optional<std::uint64_t> symbols, strings;
    std::uint64_t strings_bytes = 0;
    for (const auto& segment : structures<Elf64_Phdr>(image, header.e_phoff, header.e_phnum)) {
        if (segment.p_type != PT_DYNAMIC) continue;
        for (const auto& entry :
             structures<Elf64_Dyn>(image, segment.p_offset, segment.p_filesz / sizeof(Elf64_Dyn))) {
            if (entry.d_tag == DT_SYMTAB) symbols = offset_of_address(entry.d_un.d_ptr);
            if (entry.d_tag == DT_STRTAB) strings = offset_of_address(entry.d_un.d_ptr);
            if (entry.d_tag == DT_STRSZ) strings_bytes = entry.d_un.d_val;
        }
    }
    // No entry holds the number of symbols: linkers put the strings behind them.
    if (!symbols || !strings || *symbols >= *strings || *strings > image.size()) return;
    read_symbols(image.subspan(*symbols, *strings - *symbols),
                 image.subspan(*strings, std::min<std::uint64_t>(strings_bytes, image.size() - *strings)),
                 {});
}

void ElfFile::read_sections(Bytes image, const std::string& path) {
    const auto header = structures<Elf64_Ehdr>(image, 0, 1)[0];
    const auto sections = structures<Elf64_Shdr>(image, header.e_shoff, header.e_shnum);
    const Bytes names =
        header.e_shstrndx < sections.size() ? part(image, sections[header.e_shstrndx]) : Bytes{};
    Bytes versions;
    for (const auto& section : sections)
        if (section.sh_type == SHT_GNU_versym) versions = part(image, section);
    for (const auto& section : sections) {
        const std::string_view name = text_at(names, section.sh_name);
        if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM) {
            if (section.sh_link >= sections.size()) continue;
            const Bytes of_dynamic = section.sh_type == SHT_DYNSYM ? versions : Bytes{};
            read_symbols(part(image, section), part(image, sections[section.sh_link]), of_dynamic);
        } else if (name.starts_with(".plt")) {
            functions_.push_back({section.sh_addr, section.sh_addr + section.sh_size, ".plt"});
        } else if (name == ".note.gnu.build-id") {
            read_debug_symbols(debug_file_of_build(part(image, section)));
        } else if (name == ".gnu_debuglink") {
            read_debug_symbols(debug_file_of_link(path, part(image, section)));
        } else if (name == ".gnu_debugdata") {
            read_debug_symbols(unxz(part(image, section)));
        } else if (name == ".eh_frame") {
            for (const Range& range : frame_ranges(part(image, section), section.sh_addr))
                functions_.push_back({range.begin, range.end, ""});
        }
    }
}

void ElfFile::read_symbols(Bytes symbols, Bytes strings, Bytes versions) {
    constexpr std::uint16_t old_version = 0x8000;  // kept for programs that were linked with it
    const auto version_of = structures<std::uint16_t>(versions, 0, versions.size() / sizeof(std::uint16_t));
    const auto all = structures<Elf64_Sym>(symbols, 0, symbols.size() / sizeof(Elf64_Sym));
    for (std::size_t i = 0; i < all.size(); ++i) {
        const auto& symbol = all[i];
        const unsigned type = ELF64_ST_TYPE(symbol.st_info);
        const bool function = type == STT_FUNC || type == STT_GNU_IFUNC;
        if (!function || symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE) continue;
        const std::string name(text_at(strings, symbol.st_name));
        if (name.empty()) continue;
        functions_.push_back({symbol.st_value, symbol.st_value + symbol.st_size, name});
        if (i < version_of.size() && (version_of[i] & old_version) != 0) continue;
        if (type == STT_GNU_IFUNC) chosen_.push_back(name);
        if (type == STT_FUNC) names_.emplace_back(name, symbol.st_value);
    }
}

/// Symbols that were taken out of a file. They name places; what can be called by name is what the file
/// itself lists.
void ElfFile::read_debug_symbols(Bytes image) {
    const auto header = header_of(image);
    if (!header) return;
    const auto sections = structures<Elf64_Shdr>(image, header->e_shoff, header->e_shnum);
    const std::size_t own_names = names_.size();
    for (const auto& section : sections)
        if (section.sh_type == SHT_SYMTAB && section.sh_link < sections.size())
            read_symbols(part(image, section), part(image, sections[section.sh_link]), {});
    names_.resize(own_names);
}

/// One entry for each address.  Of several names the public one stands: the one that MPI programs call, then
/// the one with the fewest leading underscores, then the first by the alphabet.  A name goes before none.
void ElfFile::sort_functions() {
    const auto rank = [](const Function& function) {
        const std::string& name = function.name;
        const auto underscores = name.empty() ? 1000 : std::min(name.size(), name.find_first_not_of('_'));
        return std::tuple(function.begin, underscores, !name.starts_with("MPI_"), name);
    };
    std::sort(functions_.begin(), functions_.end(),
              [&](const Function& a, const Function& b) { return rank(a) < rank(b); });
    std::vector<Function> kept;
    for (Function& function : functions_) {
        if (!kept.empty() && kept.back().begin == function.begin) {
            kept.back().end = std::max(kept.back().end, function.end);
            continue;
        }
        kept.push_back(std::move(function));
    }
    functions_ = std::move(kept);
}

std::optional<std::uint64_t> ElfFile::address_of_offset(std::uint64_t offset) const {
    for (const Segment& segment : segments_)
        if (offset >= segment.offset && offset - segment.offset < segment.bytes)
            return offset - segment.offset + segment.address;
    return std::nullopt;
}

std::optional<std::uint64_t> ElfFile::offset_of_address(std::uint64_t address) const {
    for (const Segment& segment : segments_)
        if (address >= segment.address && address - segment.address < segment.bytes)
            return address - segment.address + segment.offset;
    return std::nullopt;
}

std::string ElfFile::function_at(std::uint64_t address) const {
    const auto after =
        std::upper_bound(functions_.begin(), functions_.end(), address,
                         [](std::uint64_t at, const Function& function) { return at < function.begin; });
    // Backwards, since a function may have others begin inside it: entry points of hand-written assembly.
    constexpr int most_entry_points = 64;
    auto function = after;
    for (int i = 0; i < most_entry_points && function != functions_.begin(); ++i) {
        --function;
        const bool of_no_length = function->begin == function->end && std::next(function) == after;
        if (address >= function->end && !of_no_length) continue;
        return function->name.empty() ? "+" + hexadecimal(function->begin) : function->name;
    }
    return "?";
}

std::vector<std::uint64_t> ElfFile::addresses_named(std::string_view name) const {
    std::vector<std::uint64_t> found;
    for (const auto& [known, address] : names_)
        if (known == name && std::find(found.begin(), found.end(), address) == found.end())
            found.push_back(address);
    return found;
}

bool ElfFile::is_chosen_at_load(std::string_view name) const {
    return std::find(chosen_.begin(), chosen_.end(), name) != chosen_.end();
}

}  // namespace slowpath::counting
