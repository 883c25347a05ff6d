// SPDX-License-Identifier: Apache-2.0
/// malloc, calloc and realloc. free and malloc_usable_size need no wrapper, since all memory comes from the
/// allocator of the process, whichever that is. Unless SLOWPATH_PAD_HOST=1, every call goes straight on to
/// it.
#include <dlfcn.h>
#include <malloc.h>
#include <sys/mman.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "pad/lookup.hpp"
#include "pad/settings.hpp"
#include "pad/statistics.hpp"

// The C library's own, for calls that the search for the next allocator makes itself.
extern "C" [[gnu::weak]] void* __libc_malloc(std::size_t bytes);
extern "C" [[gnu::weak]] void* __libc_calloc(std::size_t count, std::size_t bytes);
extern "C" [[gnu::weak]] void* __libc_realloc(void* old, std::size_t bytes);

namespace slowpath::pad {
namespace {

constexpr std::size_t huge_page_bytes = 2 * mebibyte;

using Malloc = void*(std::size_t bytes);
using Calloc = void*(std::size_t count, std::size_t bytes);
using Realloc = void*(void* old, std::size_t bytes);
using Memalign = int(void** pointer, std::size_t alignment, std::size_t bytes);

[[gnu::tls_model("initial-exec")]] thread_local constinit bool searching = false;

/// The next definition of a function, found at its first use: the loader allocates before any constructor has
/// run.
template <class Signature>
Signature* next(std::atomic<Signature*>& known, const char* name, Signature* meanwhile) {
    Signature* found = known.load(std::memory_order_relaxed);
    if (found != nullptr) return found;
    if (searching) return meanwhile;
    searching = true;
    found = reinterpret_cast<Signature*>(real_dlsym()(RTLD_NEXT, name));
    searching = false;
    if (found != nullptr) known.store(found, std::memory_order_relaxed);
    return found;
}

constinit std::atomic<Malloc*> known_malloc{nullptr};
constinit std::atomic<Calloc*> known_calloc{nullptr};
constinit std::atomic<Realloc*> known_realloc{nullptr};
constinit std::atomic<Memalign*> known_memalign{nullptr};

bool concerns_us(std::size_t bytes) {
    return settings.host && bytes >= settings.host_min_bytes;
}

/// Ask for huge pages in the part of the memory that can have them. A kernel without them says no, which is
/// no matter.
void advise(void* pointer, std::size_t bytes) {
    const int saved = errno;
    const auto begin =
        (reinterpret_cast<std::uintptr_t>(pointer) + huge_page_bytes - 1) & ~(huge_page_bytes - 1);
    const auto end = (reinterpret_cast<std::uintptr_t>(pointer) + bytes) & ~(huge_page_bytes - 1);
    if (begin < end) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
    errno = saved;
}

/// On a boundary of 2 MiB, a multiple of the granule long; nullptr: not to be had.
void* allocate_large(std::size_t bytes) {
    Memalign* const call = next<Memalign>(known_memalign, "posix_memalign", nullptr);
    const std::size_t asked = padded(bytes, settings.host_min_bytes);
    void* pointer = nullptr;
    if (call == nullptr || call(&pointer, huge_page_bytes, asked) != 0) return nullptr;
    advise(pointer, asked);
    note_host_allocation(asked - bytes);
    return pointer;
}

}  // namespace
}  // namespace slowpath::pad

using namespace slowpath::pad;

extern "C" [[gnu::visibility("default")]] void* malloc(std::size_t bytes) noexcept {
    if (concerns_us(bytes))
        if (void* const pointer = allocate_large(bytes)) return pointer;
    Malloc* const call = next(known_malloc, "malloc", __libc_malloc);
    return call == nullptr ? nullptr : call(bytes);
}

/// Through calloc, so that memory fresh from the system is not written just to be zero: aligned only inside.
extern "C" [[gnu::visibility("default")]] void* calloc(std::size_t count, std::size_t bytes) noexcept {
    Calloc* const call = next(known_calloc, "calloc", __libc_calloc);
    if (call == nullptr) return nullptr;
    std::size_t total = 0;
    if (__builtin_mul_overflow(count, bytes, &total) || !concerns_us(total)) return call(count, bytes);
    const std::size_t asked = padded(total, settings.host_min_bytes);
    void* const pointer = call(1, asked);
    if (pointer == nullptr) return call(count, bytes);
    advise(pointer, asked);
    note_host_allocation(asked - total);
    return pointer;
}

/// What grows is copied to a fresh place: the system would move its pages one by one, and they would stay as
/// small as they are.
extern "C" [[gnu::visibility("default")]] void* realloc(void* old, std::size_t bytes) noexcept {
    Realloc* const call = next(known_realloc, "realloc", __libc_realloc);
    if (call == nullptr) return nullptr;
    if (!concerns_us(bytes)) return call(old, bytes);
    const std::size_t held = old == nullptr ? 0 : malloc_usable_size(old);
    void* const fresh = held >= bytes ? nullptr : allocate_large(bytes);
    if (fresh == nullptr) return call(old, bytes);
    if (old != nullptr) {
        std::memcpy(fresh, old, held);
        std::free(old);
    }
    return fresh;
}
