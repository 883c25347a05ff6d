// SPDX-License-Identifier: Apache-2.0
/// The dynamic symbols of an object in memory that it imports.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace slowpath::watch {

struct Dynamic {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    std::size_t count = 0;                   ///< of symbols that can be undefined
    const ElfW(Rela) * relocations[2] = {};  ///< of data and of calls
    std::size_t relocation_bytes[2] = {};
};

/// Tables that the object has not are nullptr.
inline Dynamic dynamic_of(const dl_phdr_info* object) {
    Dynamic found;
    const ElfW(Word)* hash = nullptr, *gnu_hash = nullptr;
    // Relocated by the loader on most architectures, else an offset.
    const auto at = [&](ElfW(Addr) value) {
        return reinterpret_cast<const void*>(value < object->dlpi_addr ? object->dlpi_addr + value : value);
    };
    for (std::uint16_t i = 0; i < object->dlpi_phnum; ++i) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const auto* entry =
            reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; ++entry) {
            const ElfW(Addr) value = entry->d_un.d_ptr;
            if (entry->d_tag == DT_SYMTAB) found.symbols = static_cast<const ElfW(Sym)*>(at(value));
            if (entry->d_tag == DT_STRTAB) found.strings = static_cast<const char*>(at(value));
            if (entry->d_tag == DT_HASH) hash = static_cast<const ElfW(Word)*>(at(value));
            if (entry->d_tag == DT_GNU_HASH) gnu_hash = static_cast<const ElfW(Word)*>(at(value));
            if (entry->d_tag == DT_RELA) found.relocations[0] = static_cast<const ElfW(Rela)*>(at(value));
            if (entry->d_tag == DT_RELASZ) found.relocation_bytes[0] = value;
            if (entry->d_tag == DT_JMPREL) found.relocations[1] = static_cast<const ElfW(Rela)*>(at(value));
            if (entry->d_tag == DT_PLTRELSZ) found.relocation_bytes[1] = value;
        }
    }
    // The GNU table holds what is defined, and that stands last.
    if (gnu_hash != nullptr)
        found.count = gnu_hash[1];
    else if (hash != nullptr)
        found.count = hash[1];
    if (found.symbols == nullptr || found.strings == nullptr) found.count = 0;
    return found;
}

}  // namespace slowpath::watch
