// SPDX-License-Identifier: Apache-2.0
#include "counting/names.hpp"

#include <elf.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <tuple>

#include "core/error.hpp"

namespace slowpath::counting {
namespace {

/// The structure at `offset`; zeros beyond the end of the file.
template <class T>
T structure(const std::string& image, std::uint64_t offset) {
    T found{};
    if (offset <= image.size() && image.size() - offset >= sizeof(T))
        std::memcpy(&found, image.data() + offset, sizeof(T));
    return found;
}

std::string text_at(const std::string& image, std::uint64_t offset) {
    return offset < image.size() ? image.data() + offset : "";  // a string ends with 0 itself
}

std::string content_of(const std::string& path) {
    std::ifstream stream(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// A file's content; without sections and segments if it is no ELF file of 64 bits.
struct Elf {
    explicit Elf(std::string content) : image(std::move(content)), header(structure<Elf64_Ehdr>(image, 0)) {
        if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_ident[EI_CLASS] != ELFCLASS64)
            header = {};
    }
    Elf64_Shdr section(std::uint64_t i) const {
        return structure<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
    }

    std::string image;
    Elf64_Ehdr header;
};

/// Where distributions put the symbols that they took out, by the number of the build.
std::string debug_file(const std::string& image, const Elf64_Shdr& note) {
    constexpr std::uint64_t head_bytes = 16;  // three sizes and "GNU"
    std::string build;
    for (std::uint64_t i = head_bytes; i < note.sh_size; ++i) {
        char digits[3];
        std::snprintf(digits, sizeof digits, "%02x", structure<std::uint8_t>(image, note.sh_offset + i));
        build += digits;
    }
    if (build.size() < 4) return "";
    return "/usr/lib/debug/.build-id/" + build.substr(0, 2) + "/" + build.substr(2) + ".debug";
}

}  // namespace

std::vector<Mapping> executable_mappings() {
    std::vector<Mapping> mappings;
    std::ifstream file("/proc/self/maps");
    for (std::string line; std::getline(file, line);) {
        unsigned long begin = 0, end = 0, offset = 0;
        char mode[5] = "";
        int path = 0;
        std::sscanf(line.c_str(), "%lx-%lx %4s %lx %*s %*s %n", &begin, &end, mode, &offset, &path);
        if (mode[2] == 'x')
            mappings.push_back(
                {begin, end, offset, path > 0 ? line.substr(static_cast<std::size_t>(path)) : ""});
    }
    if (mappings.empty())
        throw EnvironmentFailure(
            "/proc/self/maps can't be read, so this process's libraries are not known; mount /proc");
    return mappings;
}

/// What is no ELF file of 64 bits, or can't be read, has no functions.
Names::File Names::read(const std::string& path) {
    const Elf elf(content_of(path));
    File file;
    for (std::uint64_t i = 0; i < elf.header.e_phnum; ++i) {
        const auto segment = structure<Elf64_Phdr>(elf.image, elf.header.e_phoff + i * sizeof(Elf64_Phdr));
        if (segment.p_type == PT_LOAD)
            file.segments.push_back({segment.p_offset, segment.p_vaddr, segment.p_filesz});
    }
    std::vector<Function>& functions = file.functions;
    const auto add_symbols = [&functions](const Elf& of, const Elf64_Shdr& section) {
        if (section.sh_type != SHT_SYMTAB && section.sh_type != SHT_DYNSYM) return;
        const std::uint64_t strings = of.section(section.sh_link).sh_offset;
        for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= section.sh_size; at += sizeof(Elf64_Sym)) {
            const auto symbol = structure<Elf64_Sym>(of.image, section.sh_offset + at);
            const unsigned type = ELF64_ST_TYPE(symbol.st_info);
            if (type != STT_FUNC && type != STT_GNU_IFUNC) continue;
            if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= SHN_LORESERVE || symbol.st_name == 0)
                continue;
            functions.push_back({symbol.st_value, symbol.st_value + symbol.st_size,
                                 text_at(of.image, strings + symbol.st_name)});
        }
    };
    Elf64_Shdr frames{}, frame_table{};
    for (std::uint64_t i = 0; i < elf.header.e_shnum; ++i) {
        const Elf64_Shdr section = elf.section(i);
        const std::string name =
            text_at(elf.image, elf.section(elf.header.e_shstrndx).sh_offset + section.sh_name);
        add_symbols(elf, section);
        if (name.starts_with(".plt"))
            functions.push_back({section.sh_addr, section.sh_addr + section.sh_size, ".plt"});
        if (name == ".eh_frame") frames = section;
        if (name == ".eh_frame_hdr") frame_table = section;
        if (name == ".note.gnu.build-id") {
            const Elf symbols(content_of(debug_file(elf.image, section)));
            for (std::uint64_t k = 0; k < symbols.header.e_shnum; ++k)
                add_symbols(symbols, symbols.section(k));
        }
    }
    const std::string& image = elf.image;
    // The linker's table of the unwind information, in the one form that is in use: pairs of 32 bits,
    // relative to the table (Linux Standard Base, .eh_frame_hdr); the length of a function stands 12 bytes
    // into its description.
    constexpr std::uint32_t usual_form = 0x3b031b01;
    if (structure<std::uint32_t>(image, frame_table.sh_offset) == usual_form && frames.sh_size > 0) {
        const std::uint64_t count = std::min<std::uint64_t>(
            structure<std::uint32_t>(image, frame_table.sh_offset + 8), frame_table.sh_size / 8);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t entry = frame_table.sh_offset + 12 + 8 * i;
            const auto relative = [&](std::uint64_t at) {
                return frame_table.sh_addr +
                       static_cast<std::uint64_t>(std::int64_t{structure<std::int32_t>(image, at)});
            };
            const std::uint64_t begin = relative(entry);
            const std::uint64_t description = relative(entry + 4) - frames.sh_addr + frames.sh_offset;
            functions.push_back({begin, begin + structure<std::uint32_t>(image, description + 12), ""});
        }
    }
    // One entry for each address. Of several names the public one stands: the one that MPI programs call,
    // then the one with the fewest leading underscores, then the first by the alphabet. A name goes before
    // none.
    const auto rank = [](const Function& function) {
        const std::string& name = function.name;
        const auto underscores = name.empty() ? 1000 : std::min(name.size(), name.find_first_not_of('_'));
        return std::tuple(function.begin, underscores, !name.starts_with("MPI_"), name);
    };
    std::sort(functions.begin(), functions.end(),
              [&](const Function& a, const Function& b) { return rank(a) < rank(b); });
    std::vector<Function> kept;
    for (Function& function : functions) {
        if (!kept.empty() && kept.back().begin == function.begin)
            kept.back().end = std::max(kept.back().end, function.end);
        else
            kept.push_back(std::move(function));
    }
    functions = std::move(kept);
    return file;
}

std::string Names::function_at(const File& file, std::uint64_t offset) {
    const auto segment = std::find_if(file.segments.begin(), file.segments.end(), [&](const Segment& one) {
        return offset >= one.offset && offset - one.offset < one.bytes;
    });
    if (segment == file.segments.end()) return "?";
    const std::uint64_t address = offset - segment->offset + segment->address;
    const auto after =
        std::upper_bound(file.functions.begin(), file.functions.end(), address,
                         [](std::uint64_t at, const Function& function) { return at < function.begin; });
    // Backwards, since a function may have others begin inside it: entry points of hand-written assembly.
    constexpr int most_entry_points = 64;
    auto function = after;
    for (int i = 0; i < most_entry_points && function != file.functions.begin(); ++i) {
        --function;
        const bool of_no_length = function->begin == function->end && std::next(function) == after;
        if (address >= function->end && !of_no_length) continue;
        if (!function->name.empty()) return function->name;
        char place[32];
        std::snprintf(place, sizeof place, "+0x%llx", static_cast<unsigned long long>(function->begin));
        return place;
    }
    return "?";
}

Place Names::at(std::uint64_t address) {
    const auto mapping = std::find_if(mappings_.begin(), mappings_.end(), [&](const Mapping& one) {
        return address >= one.begin && address < one.end;
    });
    if (mapping == mappings_.end() || mapping->path.empty()) return {"?", "?"};
    const std::string& path = mapping->path;
    if (path[0] != '/') return {path, "?"};
    const auto known = files_.find(path);
    const File& file = known == files_.end() ? files_[path] = read(path) : known->second;
    const std::string library = path.substr(path.rfind('/') + 1);
    const std::string function = function_at(file, address - mapping->begin + mapping->offset);
    return {library, function.starts_with('+') ? library + function : function};
}

std::vector<Share> Names::shares(std::span<const std::uint64_t> addresses) {
    std::map<std::uint64_t, std::uint64_t> times;
    for (const std::uint64_t address : addresses) ++times[address];
    std::map<std::pair<std::string, std::string>, std::uint64_t> sums;
    for (const auto& [address, instructions] : times) {
        const Place place = at(address);
        sums[{place.library, place.function}] += instructions;
    }
    std::vector<Share> shares;
    for (const auto& [place, instructions] : sums)
        shares.push_back({place.first, place.second, instructions});
    std::stable_sort(shares.begin(), shares.end(),
                     [](const Share& a, const Share& b) { return a.instructions > b.instructions; });
    return shares;
}

}  // namespace slowpath::counting
