// SPDX-License-Identifier: Apache-2.0
/// malloc and its kin: large blocks are noted, and all goes on to the allocator of the process, whichever
/// that is. A block below 64 KiB costs a comparison; freeing one costs a look into a table.
#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>

#include "watch/allocations.hpp"
#include "watch/loader.hpp"

namespace slowpath::watch {
namespace {

constexpr std::size_t large_bytes = std::size_t{64} << 10;

template <class Signature>
struct Original {
    const char* name;
    std::atomic<Signature*> found{nullptr};
};

using Malloc = void*(std::size_t);
using Calloc = void*(std::size_t, std::size_t);
using Realloc = void*(void*, std::size_t);
using ReallocArray = void*(void*, std::size_t, std::size_t);
using Free = void(void*);
using PosixMemalign = int(void**, std::size_t, std::size_t);

constinit Original<Malloc> next_malloc{"malloc"};
constinit Original<Calloc> next_calloc{"calloc"};
constinit Original<Realloc> next_realloc{"realloc"};
constinit Original<ReallocArray> next_reallocarray{"reallocarray"};
constinit Original<Free> next_free{"free"};
constinit Original<PosixMemalign> next_posix_memalign{"posix_memalign"};
constinit Original<Calloc> next_aligned_alloc{"aligned_alloc"};
constinit Original<Calloc> next_memalign{"memalign"};
constinit Original<Malloc> next_valloc{"valloc"};
constinit Original<Malloc> next_pvalloc{"pvalloc"};

/// The search for an allocator's functions may itself allocate (dlerror's text, in older C libraries). That
/// comes from here, is zero, and is never given back: no allocator is known yet that could take it.
constexpr std::size_t early_bytes = std::size_t{16} << 10;
alignas(64) constinit char early[early_bytes] = {};
constinit std::atomic<std::size_t> early_used{0};
[[gnu::tls_model("initial-exec")]] thread_local constinit bool searching = false;
constinit bool is_glibc = false;

bool is_early(const void* pointer) {
    return reinterpret_cast<Address>(pointer) - reinterpret_cast<Address>(early) < early_bytes;
}

void* allocate_early(std::size_t bytes) {
    const std::size_t room = (bytes + 63) & ~std::size_t{63};
    if (room < bytes || room > early_bytes) return nullptr;
    const std::size_t at = early_used.fetch_add(room);
    return at + room <= early_bytes ? early + at : nullptr;
}

template <class Signature>
[[gnu::noinline]] Signature* search(Original<Signature>& original) {
    if (searching) return nullptr;
    searching = true;
    const int saved = errno;
    auto* const found = reinterpret_cast<Signature*>(next_definition(original.name));
    errno = saved;
    searching = false;
    original.found.store(found, std::memory_order_relaxed);
    return found;
}

/// Found at its first use: the loader allocates before any constructor has run.
/// @return nullptr: this is the search itself, or nobody has it.
template <class Signature>
[[gnu::always_inline]] inline Signature* next(Original<Signature>& original) {
    Signature* const found = original.found.load(std::memory_order_relaxed);
    if (found != nullptr) [[likely]]
        return found;
    return search(original);
}

/// The C library's allocator says in front of a block whether that is a mapping of its own: bit 1 of the
/// length.
std::uint16_t kind_of(const void* block) {
    if (!is_glibc) return kind::heap;
    std::size_t head = 0;
    std::memcpy(&head, static_cast<const char*>(block) - sizeof head, sizeof head);
    return (head & 2) != 0 ? kind::mapping : kind::heap;
}

[[gnu::noinline]] void* note(void* block, std::size_t bytes) {
    if (block != nullptr)
        put(Layer::blocks,
            {.begin = reinterpret_cast<Address>(block), .bytes = bytes, .kind = kind_of(block)});
    return block;
}

void* no_memory() {
    errno = ENOMEM;
    return nullptr;
}

/// A block that the C library's call makes of these words; a small one is not noted.
template <typename Call, typename... Words>
void* noted(Call* call, std::size_t bytes, Words... words) {
    if (call == nullptr) return no_memory();
    return bytes < large_bytes ? call(words...) : note(call(words...), bytes);
}

[[gnu::noinline]] void free_known(void* block) {
    if (is_early(block)) return;
    end(take(Layer::blocks, reinterpret_cast<Address>(block)));
    if (Free* const call = next(next_free)) call(block);
}

[[gnu::noinline]] void* reallocate_early(void* old, std::size_t bytes);

/// @param make Makes the call.
template <class Make>
void* reallocate(void* old, std::size_t bytes, Make make) {
    if (is_early(old)) return reallocate_early(old, bytes);
    if (bytes < large_bytes && !may_be_block(old)) return make();
    const Taken taken = take(Layer::blocks, reinterpret_cast<Address>(old));
    void* const block = make();
    if (block == nullptr && bytes != 0) {
        put_back(taken);
    } else if (block == old && bytes >= large_bytes && taken.node != 0) {
        put_resized(taken, bytes);
    } else {
        end(taken);
        if (bytes >= large_bytes) note(block, bytes);
    }
    return block;
}

[[gnu::constructor]] void look_all_up() {
    next(next_malloc);
    next(next_calloc);
    next(next_realloc);
    next(next_reallocarray);
    next(next_free);
    next(next_posix_memalign);
    next(next_aligned_alloc);
    next(next_memalign);
    next(next_valloc);
    next(next_pvalloc);
    // Not by strlen or the like: sanitizers define those as well.
    void* const of_c = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
    Dl_info of_malloc{}, of_libc{};
    is_glibc = of_c != nullptr &&
               dladdr(reinterpret_cast<void*>(next_malloc.found.load()), &of_malloc) != 0 &&
               dladdr(of_c, &of_libc) != 0 && of_malloc.dli_fbase == of_libc.dli_fbase;
}

}  // namespace
}  // namespace slowpath::watch

using namespace slowpath::watch;
#define SLOWPATH_EXPORT extern "C" [[gnu::visibility("default")]]

SLOWPATH_EXPORT void* malloc(std::size_t bytes) noexcept {
    Malloc* const known = next_malloc.found.load(std::memory_order_relaxed);
    if (known != nullptr && bytes < large_bytes) [[likely]]
        return known(bytes);
    Malloc* const call = next(next_malloc);
    if (call == nullptr) return allocate_early(bytes);
    return bytes < large_bytes ? call(bytes) : note(call(bytes), bytes);
}

SLOWPATH_EXPORT void free(void* block) noexcept {
    Free* const call = next_free.found.load(std::memory_order_relaxed);
    if (call != nullptr && !may_be_block(block) && !is_early(block)) [[likely]]
        return call(block);
    return free_known(block);
}

SLOWPATH_EXPORT void* calloc(std::size_t count, std::size_t bytes) noexcept {
    std::size_t total = 0;
    const bool too_large = __builtin_mul_overflow(count, bytes, &total);
    Calloc* const call = next(next_calloc);
    if (call == nullptr) [[unlikely]]
        return too_large ? nullptr : allocate_early(total);
    if (too_large || total < large_bytes) return call(count, bytes);
    return note(call(count, bytes), total);
}

SLOWPATH_EXPORT void* realloc(void* old, std::size_t bytes) noexcept {
    Realloc* const call = next(next_realloc);
    if (call == nullptr) [[unlikely]]
        return allocate_early(bytes);
    return reallocate(old, bytes, [=] { return call(old, bytes); });
}

SLOWPATH_EXPORT void* reallocarray(void* old, std::size_t count, std::size_t bytes) noexcept {
    std::size_t total = 0;
    ReallocArray* const call = next(next_reallocarray);
    if (__builtin_mul_overflow(count, bytes, &total) || call == nullptr) return no_memory();
    return reallocate(old, total, [=] { return call(old, count, bytes); });
}

SLOWPATH_EXPORT int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
    PosixMemalign* const call = next(next_posix_memalign);
    if (call == nullptr) return ENOMEM;
    const int code = call(block, alignment, bytes);
    if (code == 0 && bytes >= large_bytes) note(*block, bytes);
    return code;
}

SLOWPATH_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) noexcept {
    return noted(next(next_aligned_alloc), bytes, alignment, bytes);
}

SLOWPATH_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) noexcept {
    return noted(next(next_memalign), bytes, alignment, bytes);
}

SLOWPATH_EXPORT void* valloc(std::size_t bytes) noexcept {
    return noted(next(next_valloc), bytes, bytes);
}

SLOWPATH_EXPORT void* pvalloc(std::size_t bytes) noexcept {
    return noted(next(next_pvalloc), bytes, bytes);
}

namespace slowpath::watch {
namespace {

void* reallocate_early(void* old, std::size_t bytes) {
    void* const fresh = malloc(bytes);
    const std::size_t rest = early_bytes - static_cast<std::size_t>(static_cast<char*>(old) - early);
    if (fresh != nullptr) std::memcpy(fresh, old, bytes < rest ? bytes : rest);
    return fresh;
}

}  // namespace
}  // namespace slowpath::watch
