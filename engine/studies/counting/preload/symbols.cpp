// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/symbols.hpp"

#include <sys/stat.h>

#include <cstring>

#include "counting/preload/kernel.hpp"

namespace slowpath::counting::preload {
namespace {

struct Tables {
    const Elf64_Sym* symbols = nullptr;
    const char* strings = nullptr;
    const std::uint32_t* hash = nullptr;
    const std::uint32_t* gnu_hash = nullptr;
    const std::uint16_t* versions = nullptr;
};

Tables tables_of(const link_map& library) {
    Tables tables;
    for (const Elf64_Dyn* entry = library.l_ld; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
        // glibc has added the base already, other linkers and the kernel's vdso have not.
        std::uint64_t at = entry->d_un.d_ptr;
        if (at < library.l_addr) at += library.l_addr;
        if (entry->d_tag == DT_SYMTAB) tables.symbols = reinterpret_cast<const Elf64_Sym*>(at);
        if (entry->d_tag == DT_STRTAB) tables.strings = reinterpret_cast<const char*>(at);
        if (entry->d_tag == DT_HASH) tables.hash = reinterpret_cast<const std::uint32_t*>(at);
        if (entry->d_tag == DT_VERSYM) tables.versions = reinterpret_cast<const std::uint16_t*>(at);
        if (entry->d_tag == DT_GNU_HASH) tables.gnu_hash = reinterpret_cast<const std::uint32_t*>(at);
    }
    return tables;
}

Definition definition(const Elf64_Sym& symbol, const char* strings, std::uint64_t base, const char* name) {
    const unsigned type = ELF64_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0) return {};
    if (type != STT_FUNC && type != STT_GNU_IFUNC) return {};
    if (std::strcmp(strings + symbol.st_name, name) != 0) return {};
    return {base + symbol.st_value, type == STT_GNU_IFUNC};
}

/// Old versions of a function are kept for programs that were linked with them; the default one is meant.
bool is_old_version(const Tables& tables, std::uint32_t symbol) {
    constexpr std::uint16_t hidden = 0x8000;
    return tables.versions != nullptr && (tables.versions[symbol] & hidden) != 0;
}

Definition find_by_gnu_hash(const Tables& tables, std::uint64_t base, const char* name) {
    std::uint32_t wanted = 5381;
    for (const char* letter = name; *letter != '\0'; ++letter)
        wanted = wanted * 33 + static_cast<unsigned char>(*letter);
    const std::uint32_t buckets = tables.gnu_hash[0], first = tables.gnu_hash[1], words = tables.gnu_hash[2];
    const std::uint32_t* const bucket = tables.gnu_hash + 4 + words * 2;
    const std::uint32_t* const chain = bucket + buckets;
    std::uint32_t at = buckets == 0 ? 0 : bucket[wanted % buckets];
    if (at < first) return {};
    for (;; ++at) {
        const std::uint32_t hash = chain[at - first];
        if ((hash | 1) == (wanted | 1) && !is_old_version(tables, at)) {
            const Definition found = definition(tables.symbols[at], tables.strings, base, name);
            if (found.address != 0) return found;
        }
        if ((hash & 1) != 0) return {};
    }
}

Definition find_by_hash(const Tables& tables, std::uint64_t base, const char* name) {
    const std::uint32_t symbols = tables.hash[1];  // as many chains as symbols
    for (std::uint32_t i = 0; i < symbols; ++i) {
        if (is_old_version(tables, i)) continue;
        const Definition found = definition(tables.symbols[i], tables.strings, base, name);
        if (found.address != 0) return found;
    }
    return {};
}

Definition find_in_image(const char* image, std::uint64_t base, const char* name) {
    const auto& header = *reinterpret_cast<const Elf64_Ehdr*>(image);
    const auto* const sections = reinterpret_cast<const Elf64_Shdr*>(image + header.e_shoff);
    for (unsigned i = 0; i < header.e_shnum; ++i) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const auto* const symbols = reinterpret_cast<const Elf64_Sym*>(image + sections[i].sh_offset);
        const char* const strings = image + sections[sections[i].sh_link].sh_offset;
        for (std::uint64_t k = 0; k < sections[i].sh_size / sizeof(Elf64_Sym); ++k) {
            const Definition found = definition(symbols[k], strings, base, name);
            if (found.address != 0) return found;
        }
    }
    return {};
}

}  // namespace

Definition find_exported(const link_map& library, const char* name) {
    const Tables tables = tables_of(library);
    if (tables.symbols == nullptr || tables.strings == nullptr) return {};
    if (tables.gnu_hash != nullptr) return find_by_gnu_hash(tables, library.l_addr, name);
    if (tables.hash != nullptr) return find_by_hash(tables, library.l_addr, name);
    return {};
}

Definition find_in_program(const char* path, std::uint64_t base, const char* name) {
    const int file = open_file(path, O_RDONLY);
    if (file < 0) return {};
    struct stat about {};
    Definition found;
    if (kernel(SYS_fstat, static_cast<std::uint64_t>(file), word(&about)) == 0 &&
        about.st_size > static_cast<off_t>(sizeof(Elf64_Ehdr))) {
        const auto bytes = static_cast<std::uint64_t>(about.st_size);
        const long at =
            kernel(SYS_mmap, 0, bytes, PROT_READ, MAP_PRIVATE, static_cast<std::uint64_t>(file), 0);
        if (at > 0 || at < -4095) {
            found = find_in_image(reinterpret_cast<const char*>(at), base, name);
            kernel(SYS_munmap, static_cast<std::uint64_t>(at), bytes);
        }
    }
    close_file(file);
    return found;
}

}  // namespace slowpath::counting::preload
