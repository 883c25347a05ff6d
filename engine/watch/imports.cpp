// SPDX-License-Identifier: Apache-2.0
#include "watch/imports.hpp"

#include <dlfcn.h>
#include <strings.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>

#include "watch/file.hpp"
#include "watch/found.hpp"
#include "watch/library.hpp"
#include "watch/loader.hpp"
#include "watch/symbols.hpp"

namespace slowpath::watch {
namespace {

/// Beginnings and ends of names (after the prefix, in lower case) of what moves no message.
constexpr const char* harmless_ends[] = {"_c2f",      "_f2c",     "_c2f08",   "_f082c", "_toint",
                                         "_fromint",  "_fn",      "wtime",    "wtick",  "aint_add",
                                         "aint_diff", "pcontrol", "_fn_null", "sizeof", "f_sync_reg"};

bool is_own(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const file = slash == nullptr ? path : slash + 1;
    for (const char* const beginning : {"libmpi", "libompi", "libopen-", "libmca_", "mca_", "libslowpath-"})
        if (std::strncmp(file, beginning, std::strlen(beginning)) == 0) return true;
    return std::strcmp(path, library().path) == 0;
}

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
    if (is_own(path)) return 0;
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

}  // namespace slowpath::watch
