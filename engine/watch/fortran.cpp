// SPDX-License-Identifier: Apache-2.0
/// The stubs of the Fortran bindings, on x86-64. Elsewhere there are none, and a call's site is in the
/// binding.
#include "watch/fortran.hpp"

#if defined(__x86_64__)

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "watch/loader.hpp"
#include "watch/lock.hpp"
#include "watch/originals.hpp"

namespace slowpath::watch {
namespace {

constexpr const char* names[] = {
#define SLOWPATH_FORTRAN(name) #name,
#include "watch_fortran.inc"
#undef SLOWPATH_FORTRAN
};
constexpr std::size_t name_count = sizeof names / sizeof names[0];

void write_name(char* text, std::size_t room, std::uint32_t stub) {
    static constexpr const char* forms[fortran_forms] = {"%s_", "%s__", "%s_f08_", "%s_f08ts_", "p%s_"};
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    std::snprintf(text, room, forms[stub % fortran_forms], names[stub / fortran_forms]);
#pragma GCC diagnostic pop
}

/// Where code of bindings is.
struct Range {
    std::uintptr_t begin, end;
};
constinit Range bindings[16] = {};
constinit std::atomic<std::uint32_t> binding_count{0};
constinit SpinLock bindings_lock{};

bool is_in_binding(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const std::uint32_t count = binding_count.load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < count; ++i)
        if (at >= bindings[i].begin && at < bindings[i].end) return true;
    return false;
}

void note_binding(std::uintptr_t begin, std::uintptr_t end) {
    const std::uint32_t count = binding_count.load(std::memory_order_relaxed);
    if (is_in_binding(reinterpret_cast<const void*>(begin)) || count == sizeof bindings / sizeof bindings[0])
        return;
    bindings[count] = {begin, end};
    binding_count.store(count + 1, std::memory_order_release);
}

/// Of the binding's own library, and of those that are MPI's by their name: Open MPI's mpi_f08 calls its
/// mpif.h.
int note_if_binding(dl_phdr_info* object, std::size_t, void* target) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(target);
    const char* const slash = object->dlpi_name == nullptr ? nullptr : std::strrchr(object->dlpi_name, '/');
    const bool is_mpi = slash != nullptr && std::strncmp(slash + 1, "libmpi", 6) == 0;
    std::uintptr_t begin = UINTPTR_MAX, end = 0;
    for (std::uint16_t i = 0; i < object->dlpi_phnum; ++i) {
        const auto& part = object->dlpi_phdr[i];
        if (part.p_type != PT_LOAD) continue;
        const std::uintptr_t at = object->dlpi_addr + part.p_vaddr;
        if (at < begin) begin = at;
        if (at + part.p_memsz > end) end = at + part.p_memsz;
    }
    if (is_mpi || (wanted >= begin && wanted < end)) note_binding(begin, end);
    return 0;
}

struct Search {
    const char* name;
    void* found;
};

/// In a library of a local scope.
int find_in(dl_phdr_info* object, std::size_t, void* data) {
    auto& search = *static_cast<Search*>(data);
    const char* const path = object->dlpi_name;
    if (path == nullptr || *path == '\0' || is_this_library(path)) return 0;
    void* const handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (handle == nullptr) return 0;
    void* const found = real_dlsym()(handle, search.name);
    dlclose(handle);
    Dl_info about;
    if (found == nullptr || dladdr(found, &about) == 0 || is_this_library(about.dli_fname)) return 0;
    search.found = found;
    return 1;
}

}  // namespace

bool is_of_binding(const Observed& call, const FortranPlace& place) {
    return call.frame < place.stack && is_in_binding(call.caller);
}

constinit thread_local FortranPlace slowpath_watch_fortran_place{};

}  // namespace slowpath::watch

extern "C" {

[[gnu::visibility("hidden")]] void*
    slowpath_watch_fortran[slowpath::watch::name_count * slowpath::watch::fortran_forms] = {};

/// @param stub By name and form.  @return The binding, which the stub jumps to.
[[gnu::visibility("hidden"), gnu::used]] void* slowpath_watch_find_fortran(std::uint32_t stub) {
    using namespace slowpath::watch;
    char name[64];
    write_name(name, sizeof name, stub);
    Search search{name, next_definition(name)};
    if (search.found == nullptr) dl_iterate_phdr(find_in, &search);
    if (search.found == nullptr) end_without(name);
    {
        const SpinGuard guard(bindings_lock);
        dl_iterate_phdr(note_if_binding, search.found);
    }
    __atomic_store_n(&slowpath_watch_fortran[stub], search.found, __ATOMIC_RELEASE);
    return search.found;
}

}  // extern "C"

// A stub leaves all registers that hold arguments alone, and the stack. rax and r11 are free at a call
// (System V ABI for x86-64, 3.2.3), and what lies below the stack pointer is this function's for 128 bytes.
asm(R"(
    .text
    .set slowpath_watch_stub, 0
    .macro slowpath_watch_form name
    .globl \name
    .type \name, @function
\name:
    .cfi_startproc
    endbr64
    movl $slowpath_watch_stub, %r11d
    jmp slowpath_watch_jump
    .cfi_endproc
    .size \name, . - \name
    .set slowpath_watch_stub, slowpath_watch_stub + 1
    .endm

    .type slowpath_watch_jump, @function
slowpath_watch_jump:
    .cfi_startproc
    movq %rdx, -8(%rsp)
    movq slowpath_watch_fortran_place@gottpoff(%rip), %rax
    movq (%rsp), %rdx
    movq %rdx, %fs:(%rax)
    movq %rsp, %fs:8(%rax)
    movq -8(%rsp), %rdx
    leaq slowpath_watch_fortran(%rip), %rax
    movq (%rax,%r11,8), %rax
    testq %rax, %rax
    je 1f
    jmp *%rax
1:  pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rdx
    .cfi_adjust_cfa_offset 8
    pushq %rcx
    .cfi_adjust_cfa_offset 8
    pushq %r8
    .cfi_adjust_cfa_offset 8
    pushq %r9
    .cfi_adjust_cfa_offset 8
    pushq %r10
    .cfi_adjust_cfa_offset 8
    movl %r11d, %edi
    call slowpath_watch_find_fortran
    popq %r10
    .cfi_adjust_cfa_offset -8
    popq %r9
    .cfi_adjust_cfa_offset -8
    popq %r8
    .cfi_adjust_cfa_offset -8
    popq %rcx
    .cfi_adjust_cfa_offset -8
    popq %rdx
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%rax
    .cfi_endproc
    .size slowpath_watch_jump, . - slowpath_watch_jump
)"
#define SLOWPATH_FORTRAN(name)   \
    "slowpath_watch_form " #name \
    "_\n"                        \
    "slowpath_watch_form " #name \
    "__\n"                       \
    "slowpath_watch_form " #name \
    "_f08_\n"                    \
    "slowpath_watch_form " #name \
    "_f08ts_\n"                  \
    "slowpath_watch_form p" #name "_\n"
#include "watch_fortran.inc"
#undef SLOWPATH_FORTRAN
);

#endif
