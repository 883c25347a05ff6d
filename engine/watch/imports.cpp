// SPDX-License-Identifier: Apache-2.0
/// dlsym, so that programs that open MPI themselves (Julia, ctypes) get the wrappers, and those that ask
/// whether MPI has a call are not answered by this library's own symbols.
#include "watch/imports.hpp"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "watch/file.hpp"
#include "watch/found.hpp"
#include "watch/library.hpp"
#include "watch/loader.hpp"
#include "watch/originals.hpp"
#include "watch/sites.hpp"

namespace slowpath::watch {
namespace {

/// The dynamic symbols of an object in memory that it imports.
struct Dynamic {
    const ElfW(Sym) * symbols = nullptr;
    const char* strings = nullptr;
    std::size_t count = 0;                   ///< of symbols that can be undefined
    const ElfW(Rela) * relocations[2] = {};  ///< of data and of calls
    std::size_t relocation_bytes[2] = {};
};

/// Tables that the object has not are nullptr.
Dynamic dynamic_of(const dl_phdr_info* object) {
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

/// Beginnings and ends of names (after the prefix, in lower case) of what moves no message.
constexpr const char* harmless_ends[] = {"_c2f",      "_f2c",     "_c2f08",   "_f082c", "_toint",
                                         "_fromint",  "_fn",      "wtime",    "wtick",  "aint_add",
                                         "aint_diff", "pcontrol", "_fn_null", "sizeof", "f_sync_reg"};

/// The name after MPI_, in any case and with or without a profiling prefix; nullptr: it is not MPI's.
const char* after_prefix(const char* name) {
    if (*name == 'P' || *name == 'p') ++name;
    if (std::strncmp(name, "MPI_", 4) == 0 || std::strncmp(name, "mpi_", 4) == 0) return name + 4;
    return std::strncmp(name, "MPIX_", 5) == 0 ? name : nullptr;
}

/// "send" of "send_", "send__", "send_f08_", "send_f08ts_".
std::size_t bare_length(const char* name) {
    std::size_t length = std::strlen(name);
    for (const char* const end : {"_f08ts_", "_f08_", "__", "_"}) {
        const std::size_t tail = std::strlen(end);
        if (length > tail && std::strcmp(name + length - tail, end) == 0) return length - tail;
    }
    return length;
}

std::size_t call_named(const char* name, std::size_t length) {
    for (std::size_t call = 0; call < call_count; ++call) {
        const char* const known = shapes[call].name + 4;
        if (strncasecmp(known, name, length) == 0 && known[length] == '\0') return call;
    }
    return call_count;
}

bool is_harmless(const char* name, std::size_t length) {
    for (const char* const end : harmless_ends) {
        const std::size_t tail = std::strlen(end);
        if (length >= tail && strncasecmp(name + length - tail, end, tail) == 0) return true;
    }
    return false;
}

/// Sentinels and Fortran's common blocks are imported, too.
bool is_function(const char* symbol) {
    void* found = real_dlsym()(RTLD_DEFAULT, symbol);
    if (found == nullptr && library_handle() != nullptr) found = real_dlsym()(library_handle(), symbol);
    Dl_info about;
    ElfW(Sym)* entry = nullptr;
    if (found == nullptr || dladdr1(found, &about, reinterpret_cast<void**>(&entry), RTLD_DL_SYMENT) == 0 ||
        entry == nullptr)
        return found != nullptr;
    return ELF64_ST_TYPE(entry->st_info) == STT_FUNC || ELF64_ST_TYPE(entry->st_info) == STT_GNU_IFUNC;
}

struct Seen {
    bool is_first;
    std::uint16_t importers[call_count];
    bool is_in_object[call_count];
};

void note_symbol(Seen& seen, const char* symbol, const char* path) {
    const char* const name = after_prefix(symbol);
    if (name == nullptr) return;
    const std::size_t length = bare_length(name);
    if (const std::size_t call = call_named(name, length); call != call_count) {
        seen.is_in_object[call] = true;
        return;
    }
    if (!seen.is_first || is_harmless(name, length) || !is_function(symbol)) return;
    char line[256];
    std::snprintf(line, sizeof line, "%s\t%s", symbol, *path == '\0' ? "the program" : path);
    write_text("unseen", line);
}

int note_object(dl_phdr_info* object, std::size_t, void* data) {
    auto& seen = *static_cast<Seen*>(data);
    const char* const path = object->dlpi_name == nullptr ? "" : object->dlpi_name;
    if (is_mpi_path(path)) return 0;
    const Dynamic dynamic = dynamic_of(object);
    std::memset(seen.is_in_object, 0, sizeof seen.is_in_object);
    for (std::size_t i = 1; i < dynamic.count; ++i)
        if (dynamic.symbols[i].st_shndx == SHN_UNDEF)
            note_symbol(seen, dynamic.strings + dynamic.symbols[i].st_name, path);
    for (std::size_t call = 0; call < call_count; ++call) seen.importers[call] += seen.is_in_object[call];
    return 0;
}

}  // namespace

void note_imports() {
    static constinit Seen seen{true, {}, {}};
    auto& rows = sections().calls;
    if (rows.used() < call_count) return;
    std::memset(seen.importers, 0, sizeof seen.importers);
    dl_iterate_phdr(note_object, &seen);
    seen.is_first = false;
    for (std::uint32_t call = 0; call < call_count; ++call) {
        rows[call].importers = seen.importers[call];
        rows[call].dlsym = times_found_by_dlsym(static_cast<Call>(call));
    }
}

namespace {

constinit std::atomic<std::uint32_t> times_found[call_count] = {};

/// A wrapped call by its name without "MPI_"; call_count: none. The table is sorted.
std::size_t number_of(const char* name) {
    std::size_t begin = 0, end = call_count;
    while (begin < end) {
        const std::size_t middle = begin + (end - begin) / 2;
        const int order = std::strcmp(name, shapes[middle].name);
        if (order == 0) return middle;
        if (order < 0)
            end = middle;
        else
            begin = middle + 1;
    }
    return call_count;
}

/// An object that defines MPI itself: a layer that opens an MPI underneath must get that one's functions.
bool defines_mpi(const void* address) {
    Dl_info about, of_init;
    if (dladdr(address, &about) == 0 || about.dli_fname == nullptr) return false;
    void* const object = dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) return false;
    void* const init = real_dlsym()(object, "MPI_Init");
    dlclose(object);
    return init != nullptr && dladdr(init, &of_init) != 0 && of_init.dli_fbase == about.dli_fbase;
}

/// What the search would have found without this library; nullptr, with a text in dlerror: nothing.
void* behind(void* wrapper, const char* name) {
    void* const library = library_handle();
    if (next_definition(name) != nullptr || (library != nullptr && real_dlsym()(library, name) != nullptr))
        return wrapper;
    void* const nothing = real_dlsym()(RTLD_NEXT, name);
    return nothing;
}

[[gnu::noinline]] void* find(void* handle, const char* name, const void* caller) {
    void* const found = real_dlsym()(handle, name);
    const std::size_t call = number_of(name + (name[0] == 'P' ? 1 : 0));
    if (found == nullptr || call == call_count) return found;
    if (is_in_this_library(found)) {
        void* const given = behind(found, name);
        if (given != nullptr) times_found[call].fetch_add(1, std::memory_order_relaxed);
        return given;
    }
    if (!defines_mpi(found) || defines_mpi(caller)) return found;
    const Prefix prefix = name[0] == 'P' ? Prefix::pmpi : Prefix::mpi;
    Dl_info about;
    void* const library =
        dladdr(found, &about) != 0 ? dlopen(about.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : nullptr;
    if (library == nullptr || !take_original(prefix, static_cast<Call>(call), found, library)) return found;
    times_found[call].fetch_add(1, std::memory_order_relaxed);
    return wrapper_of(prefix, static_cast<Call>(call));
}

}  // namespace

std::uint32_t times_found_by_dlsym(Call call) {
    return times_found[call].load(std::memory_order_relaxed);
}

}  // namespace slowpath::watch

/// What dlsym finds for RTLD_NEXT and RTLD_DEFAULT depends on the library that its return address is in. So
/// all searches that are none of our business go on as a jump, which keeps that address; hence -O2, in any
/// build.
extern "C" [[gnu::visibility("default")]] void* dlsym(void* __restrict handle,
                                                      const char* __restrict name) noexcept {
    using namespace slowpath::watch;
    if (is_for_gpu(handle, name, __builtin_return_address(0)))
        return find_for_gpu(handle, name, __builtin_return_address(0));
    const char* const bare = name + (name[0] == 'P' ? 1 : 0);
    if (std::strncmp(bare, "MPI_", 4) != 0 || handle == RTLD_NEXT) return real_dlsym()(handle, name);
    return find(handle, name, __builtin_return_address(0));
}

namespace slowpath::watch {
namespace {

bool is_missing(const char* name) {
    return next_definition(name) == nullptr && real_dlsym()(library_handle(), name) == nullptr;
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
