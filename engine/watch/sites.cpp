// SPDX-License-Identifier: Apache-2.0
#include "watch/sites.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <unwind.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

#include "watch/clock.hpp"
#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/lock.hpp"
#include "watch/python.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constexpr std::uint32_t most_frames = 15;

constexpr std::uint16_t first_looks = 8;  // of a place's line in Python

/// By the hash of the frames.
constexpr std::size_t index_slots = 8192;
constinit std::uint32_t site_index[index_slots]{};
constinit SpinLock site_lock{};
constinit std::uint32_t module_rereads = 0;

struct Walk {
    std::uint64_t caller;
    bool is_past_caller;
    layout::Site site;
};

_Unwind_Reason_Code step(_Unwind_Context* context, void* memory) {
    auto& walk = *static_cast<Walk*>(memory);
    const std::uint64_t address = _Unwind_GetIP(context);
    if (address == walk.caller) walk.is_past_caller = true;
    if (!walk.is_past_caller || address == 0 || (walk.site.depth > 0 && is_mpi(address)))
        return _URC_NO_REASON;
    walk.site.frames[walk.site.depth++] = address;
    return walk.site.depth == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/// Libraries may come after MPI_Init: write them down before the process can be killed.
void note_new_modules(const layout::Site& site) {
    constexpr std::uint32_t most_rereads = 256;
    for (std::uint32_t frame = 0; frame < site.depth; ++frame) {
        if (is_noted(site.frames[frame]) || module_rereads == most_rereads) continue;
        ++module_rereads;
        return note_modules();
    }
}

std::uint32_t add_site(const layout::Site& site) {
    std::uint64_t hash = site.python;
    for (std::uint32_t frame = 0; frame < site.depth; ++frame)
        hash = scatter(hash ^ site.frames[frame]) + frame;
    const SpinGuard guard(site_lock);
    Section<layout::Site>& rows = sections().sites;
    std::size_t at = hash % index_slots;
    for (; site_index[at] != 0; at = (at + 1) % index_slots)
        if (std::memcmp(&rows[site_index[at] - 1], &site, sizeof site) == 0) return site_index[at] - 1;
    layout::Site* row = rows.next();
    if (row == nullptr) return 0;
    *row = site;
    const std::uint32_t number = rows.publish();
    site_index[at] = number + 1;
    return number;
}

constexpr unsigned look_unit = 1024;  // ticks

/// Lines that share a place in C are looked up at its first calls, then for at most 1/256 of the time. Calls
/// in between count for the line that was found last, so that each line has its share of them.
void plan_look(Lane& lane, SiteSlot& slot, std::uint64_t since) {
    constexpr std::uint64_t rest = 256,
                            most_ticks = 4096;  // more: the thread lost its core, or the line was new
    const std::uint64_t now = now_ticks(), took = now - since < most_ticks ? now - since : most_ticks;
    const std::uint64_t chance = scatter(since) % (rest / 2);  // no step with a loop of the program's
    slot.look_at = static_cast<std::uint32_t>((now + took * (rest + chance)) / look_unit);
    lane.row->own_ticks += now - since;
}

[[gnu::noinline]] void look_again(Lane& lane, SiteSlot& slot) {
    const std::uint64_t since = now_ticks();
    if (slot.looks < first_looks) ++slot.looks;
    if (const std::uint16_t line = find_python_line(); line != 0 && line != slot.python) {
        layout::Site site = sections().sites[slot.site];
        site.python = slot.python = line;
        slot.site = add_site(site);
    }
    plan_look(lane, slot, since);
}

bool is_look_due(const SiteSlot& slot) {
    if (slot.looks < first_looks) return slot.looks != 0;
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(now_ticks() / look_unit) - slot.look_at) >= 0;
}

[[gnu::noinline]] std::uint32_t unwind(Lane& lane, const Observed& call, std::uint16_t line) {
    const std::uint64_t since = now_ticks();
    Walk walk{reinterpret_cast<std::uint64_t>(call.caller), false, {}};
    _Unwind_Backtrace(step, &walk);
    if (walk.site.depth == 0) {
        walk.site.depth = 1;
        walk.site.frames[0] = walk.caller;
    }
    walk.site.python = line;
    note_new_modules(walk.site);
    const std::uint32_t site = add_site(walk.site);
    ++lane.unwound;
    lane.row->own_ticks += now_ticks() - since;
    return site;
}

constexpr std::size_t reach = 8;

SiteSlot* find(Lane& lane, const void* caller, const void* frame) {
    const std::size_t home = home_of_site(caller, frame);
    for (std::size_t step = 0; step < reach; ++step) {
        SiteSlot& slot = lane.sites[(home + step) % Lane::site_slots];
        if (slot.caller == caller && slot.frame == frame) return &slot;
    }
    return nullptr;
}

SiteSlot& take_slot(Lane& lane, const void* caller, const void* frame) {
    const std::size_t home = home_of_site(caller, frame);
    std::size_t chosen = (home + lane.unwound % reach) % Lane::site_slots;
    for (std::size_t step = 0; step < reach; ++step) {
        const std::size_t at = (home + step) % Lane::site_slots;
        if (lane.sites[at].caller == nullptr) {
            chosen = at;
            break;
        }
    }
    lane.sites[chosen] = {caller, frame, 0, 0, 0, 0, 0, 0, 0};
    return lane.sites[chosen];
}

[[gnu::noinline]] SiteSlot& meet_site(Lane& lane, const Observed& call) {
    // A frame address that is never the same twice (fibers, recursion) would unwind every call: then the
    // return address alone names the place.
    constexpr std::uint64_t free_unwinds = 4096, calls_an_unwind = 256;
    const void* frame = call.frame;
    if (lane.unwound > free_unwinds && lane.unwound * calls_an_unwind > lane.row->calls) {
        frame = nullptr;
        if (SiteSlot* slot = find(lane, call.caller, frame)) return *slot;
    }
    const std::uint16_t line = is_python_there() ? find_python_line() : std::uint16_t{0};
    const std::uint32_t site = unwind(lane, call, line);
    SiteSlot& slot = take_slot(lane, call.caller, frame);
    slot.site = site;
    slot.python = line;
    slot.looks = is_python_there() ? 1 : 0;
    return slot;
}

}  // namespace

SiteSlot& search_site(Lane& lane, const Observed& call) {
    SiteSlot* const slot = find(lane, call.caller, call.frame);
    if (slot == nullptr) [[unlikely]]
        return meet_site(lane, call);
    if (is_look_due(*slot)) [[unlikely]]
        look_again(lane, *slot);
    return *slot;
}

void begin_sites() {
    std::memset(site_index, 0, sizeof site_index);
    module_rereads = 0;
    if (sections().sites.next() != nullptr) sections().sites.publish();  // row 0, for what finds no room
}

namespace {

struct Module {
    std::uintptr_t begin, end;
    bool is_mpi, is_own;
};

constinit Module modules[4096]{};
constinit std::atomic<std::uint32_t> module_count = 0;
/// Parts of the address space that own modules are in, modulo their number: most words of a stack are in
/// none.
constexpr std::uintptr_t part_bytes = 65536, part_count = 65536;
constinit std::atomic<bool> own_parts[part_count]{};
constinit std::atomic<std::uintptr_t> binding_begin{0}, binding_end{0};  ///< of mpi4py
constinit SpinLock module_lock{};

/// Libraries of C, C++ and Fortran.
bool is_of_language(const char* path) {
    static constexpr const char* names[] = {
        "libc.",    "libc-",       "libm.",       "libm-",        "ld-",          "libstdc++.", "libgcc_s.",
        "libmvec.", "libpthread.", "libpthread-", "libgfortran.", "libquadmath.", "libgomp."};
    const char* const name = std::strrchr(path, '/') + 1;
    for (const char* const known : names)
        if (std::strncmp(name, known, std::strlen(known)) == 0) return true;
    return false;
}

/// A line of /proc/self/maps: BEGIN-END rwxp OFFSET DEVICE INODE PATH.
void note_line(const char* line) {
    char* rest = nullptr;
    const std::uintptr_t begin = std::strtoul(line, &rest, 16);
    if (*rest != '-') return;
    const std::uintptr_t end = std::strtoul(rest + 1, &rest, 16);
    if (rest[0] != ' ' || rest[3] != 'x' || module_count == sizeof modules / sizeof modules[0]) return;
    for (std::uint32_t at = 0; at < module_count; ++at)
        if (modules[at].begin == begin && modules[at].end == end) return;
    const char* path = std::strchr(rest, '/');
    const bool is_of_mpi = path != nullptr && is_mpi_path(path);
    const bool is_of_program = !is_of_mpi && path != nullptr && !is_of_language(path);
    modules[module_count] = {begin, end, is_of_mpi, is_of_program};
    ++module_count;
    for (std::uintptr_t part = begin / part_bytes; is_of_program && part * part_bytes < end; ++part)
        own_parts[part % part_count] = true;
    if (path != nullptr && std::strstr(path, "/mpi4py/") != nullptr) binding_begin = begin, binding_end = end;
    write_text("map", line);
}

const Module* find(std::uintptr_t address) {
    for (const Module *module = modules, *end = modules + module_count; module < end; ++module)
        if (address >= module->begin && address < module->end) return module;
    return nullptr;
}

}  // namespace

void note_modules() {
    const SpinGuard guard(module_lock);
    const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    static constinit char text[16384]{};
    std::size_t held = 0;
    for (ssize_t got; (got = read(file, text + held, sizeof text - 1 - held)) > 0;) {
        held += static_cast<std::size_t>(got);
        text[held] = '\0';
        char* line = text;
        for (char* end; (end = std::strchr(line, '\n')) != nullptr; line = end + 1) {
            *end = '\0';
            note_line(line);
        }
        held = static_cast<std::size_t>(text + held - line);
        std::memmove(text, line, held);
        if (held == sizeof text - 1) held = 0;
    }
    close(file);
}

bool is_mpi_path(const char* path) {
    const char* const slash = std::strrchr(path, '/');
    const char* const file = slash == nullptr ? path : slash + 1;
    for (const char* const beginning : {"libmpi", "libompi", "libopen-", "libmca_", "mca_", "libslowpath-"})
        if (std::strncmp(file, beginning, std::strlen(beginning)) == 0) return true;
    return library().path[0] != '\0' && std::strcmp(path, library().path) == 0;
}

bool is_noted(std::uintptr_t address) {
    return find(address) != nullptr;
}

bool is_mpi(std::uintptr_t address) {
    const Module* module = find(address);
    return module != nullptr && module->is_mpi;
}

bool is_own(std::uintptr_t address) {
    if (!own_parts[address / part_bytes % part_count]) return false;
    const Module* module = find(address);
    return module != nullptr && module->is_own;
}

bool is_binding(std::uintptr_t address) {
    return address >= binding_begin && address < binding_end;
}

void begin_modules() {
    module_count = 0;
    note_modules();
}

}  // namespace slowpath::watch
