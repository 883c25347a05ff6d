// SPDX-License-Identifier: Apache-2.0
#include "watch/weak.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "watch/found.hpp"
#include "watch/loader.hpp"
#include "watch/symbols.hpp"

namespace slowpath::watch {
namespace {

bool is_missing(const char* name) {
    return next_definition(name) == nullptr && real_dlsym()(library_handle(), name) == nullptr;
}

std::size_t number_of(const char* name) {
    for (std::size_t call = 0; call < call_count; ++call)
        if (std::strcmp(shapes[call].name, name) == 0) return call;
    return call_count;
}

/// A part of the object that the loader made read-only after it had filled it.
bool is_read_only(const dl_phdr_info* object, std::uintptr_t place) {
    for (std::uint16_t i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
        if (part.p_type == PT_GNU_RELRO && place >= begin && place < begin + part.p_memsz) return true;
    }
    return false;
}

void clear(const dl_phdr_info* object, void** place) {
    const auto address = reinterpret_cast<std::uintptr_t>(place);
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    void* const page = reinterpret_cast<void*>(address & ~(page_bytes - 1));
    const bool is_closed = is_read_only(object, address);
    if (is_closed && mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0) return;
    *place = nullptr;
    if (is_closed) mprotect(page, page_bytes, PROT_READ);
}

/// The places in memory that hold this symbol's address.
void clear_all(const dl_phdr_info* object, const Dynamic& dynamic, std::size_t symbol, const void* wrapper) {
    for (std::size_t kind = 0; kind < 2; ++kind) {
        const ElfW(Rela)* const table = dynamic.relocations[kind];
        const std::size_t rows = table == nullptr ? 0 : dynamic.relocation_bytes[kind] / sizeof *table;
        for (std::size_t i = 0; i < rows; ++i) {
            auto** const place = reinterpret_cast<void**>(object->dlpi_addr + table[i].r_offset);
            if (ELF64_R_SYM(table[i].r_info) == symbol && *place == wrapper) clear(object, place);
        }
    }
}

int withdraw_in(dl_phdr_info* object, std::size_t, void*) {
    const Dynamic dynamic = dynamic_of(object);
    for (std::size_t i = 1; i < dynamic.count; ++i) {
        const auto& symbol = dynamic.symbols[i];
        const char* const name = dynamic.strings + symbol.st_name;
        if (symbol.st_shndx != SHN_UNDEF || ELF64_ST_BIND(symbol.st_info) != STB_WEAK) continue;
        const bool is_profiling = name[0] == 'P';
        if (std::strncmp(name + is_profiling, "MPI_", 4) != 0) continue;
        const std::size_t call = number_of(name + is_profiling);
        if (call == call_count || !is_missing(name)) continue;
        const Prefix prefix = is_profiling ? Prefix::pmpi : Prefix::mpi;
        clear_all(object, dynamic, i, wrapper_of(prefix, static_cast<Call>(call)));
    }
    return 0;
}

}  // namespace

void withdraw_missing() {
    if (library_handle() != nullptr) dl_iterate_phdr(withdraw_in, nullptr);
}

}  // namespace slowpath::watch
