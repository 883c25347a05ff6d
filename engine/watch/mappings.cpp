// SPDX-License-Identifier: Apache-2.0
/// mmap and its kin, as the program calls them.
#include <sys/mman.h>
#include <sys/shm.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <initializer_list>

#include "watch/allocations.hpp"
#include "watch/loader.hpp"
#include "watch/maps.hpp"

namespace slowpath::watch {
namespace {

template <class Signature>
class Original {
  public:
    constexpr explicit Original(const char* name) : name_(name) {}
    Signature* find() {
        Signature* found = found_.load(std::memory_order_relaxed);
        if (found != nullptr) return found;
        const int saved = errno;
        found = reinterpret_cast<Signature*>(next_definition(name_));
        errno = saved;
        found_.store(found, std::memory_order_relaxed);
        return found;
    }

  private:
    const char* name_;
    std::atomic<Signature*> found_{nullptr};
};

using Mmap = void*(void*, std::size_t, int, int, int, off_t);
using Munmap = int(void*, std::size_t);
using Mremap = void*(void*, std::size_t, std::size_t, int, void*);
using Shmat = void*(int, const void*, int);
using Shmdt = int(const void*);

constinit Original<Mmap> next_mmap{"mmap"};
constinit Original<Mmap> next_mmap64{"mmap64"};
constinit Original<Munmap> next_munmap{"munmap"};
constinit Original<Mremap> next_mremap{"mremap"};
constinit Original<Shmat> next_shmat{"shmat"};
constinit Original<Shmdt> next_shmdt{"shmdt"};

[[gnu::constructor]] void look_all_up() {
    next_mmap.find();
    next_mmap64.find();
    next_munmap.find();
    next_mremap.find();
    next_shmat.find();
    next_shmdt.find();
}

Address address_of(const void* pointer) {
    return reinterpret_cast<Address>(pointer);
}

std::size_t whole_pages(std::size_t bytes) {
    return (bytes + base_page_bytes() - 1) & ~(base_page_bytes() - 1);
}

/// What is asked for without access is room for addresses, which an allocator fills later.
void note(void* mapping, std::size_t bytes, int flags) {
    if (mapping == MAP_FAILED) return;
    const bool is_shared = (flags & MAP_TYPE) != MAP_PRIVATE;
    const std::uint16_t memory = (flags & MAP_ANONYMOUS) == 0 ? kind::file
                                 : is_shared                  ? kind::shared
                                                              : kind::mapping;
    put(Layer::mappings, {.begin = address_of(mapping), .bytes = whole_pages(bytes), .kind = memory});
}

/// What a call returns that the C library does not have.
template <typename Result>
Result missing(Result failed) {
    errno = ENOSYS;
    return failed;
}

void* map(Original<Mmap>& original, void* address, std::size_t bytes, int protection, int flags, int file,
          off_t offset) {
    Mmap* const call = original.find();
    if (call == nullptr) return missing(MAP_FAILED);
    void* const mapping = call(address, bytes, protection, flags, file, offset);
    note(mapping, bytes, flags);
    return mapping;
}

/// Addresses of a mapping are gone, and so is all that lay in it.
void forget(Address begin, std::size_t bytes) {
    for (const Layer layer : {Layer::declared, Layer::blocks, Layer::mappings})
        take_range(layer, begin, begin + bytes);
}

}  // namespace
}  // namespace slowpath::watch

using namespace slowpath::watch;
#define SLOWPATH_EXPORT extern "C" [[gnu::visibility("default")]]

SLOWPATH_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int file,
                           off_t offset) noexcept {
    return map(next_mmap, address, bytes, protection, flags, file, offset);
}

SLOWPATH_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int file,
                             off64_t offset) noexcept {
    return map(next_mmap64, address, bytes, protection, flags, file, offset);
}

SLOWPATH_EXPORT int munmap(void* address, std::size_t bytes) noexcept {
    Munmap* const call = next_munmap.find();
    if (call == nullptr) return missing(-1);
    // Before, since another thread may get the addresses right after. What the kernel refuses, it refuses for
    // the address, and frees nothing.
    if (address_of(address) % base_page_bytes() == 0 && bytes != 0)
        forget(address_of(address), whole_pages(bytes));
    return call(address, bytes);
}

/// The new address is there only with MREMAP_FIXED; as the C library does, it is read with each call that
/// may have it.
SLOWPATH_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, ...) noexcept {
    void* wanted = nullptr;
    if ((flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) != 0) {
        std::va_list arguments;
        va_start(arguments, flags);
        wanted = va_arg(arguments, void*);
        va_end(arguments);
    }
    Mremap* const call = next_mremap.find();
    if (call == nullptr) return missing(MAP_FAILED);
    const Address begin = address_of(old);
    const std::size_t old_length = whole_pages(old_bytes);
    const bool keeps_old = (flags & MREMAP_DONTUNMAP) != 0 || old_bytes == 0;
    const Taken taken = keeps_old ? Taken{} : take(Layer::mappings, begin, old_length);
    // A part of a mapping: what is left keeps its identity, and a part that is refused is one of its own
    // then.
    const bool is_part = taken.node == 0 && !keeps_old && known_bytes(Layer::mappings, begin) != 0;
    if (is_part) take_range(Layer::mappings, begin, begin + old_length);
    const Made part{.begin = begin, .bytes = old_length, .kind = kind::mapping};
    void* const mapping = call(old, old_bytes, bytes, flags, wanted);
    if (mapping == MAP_FAILED) {
        put_back(taken);
        if (is_part) put(Layer::mappings, part);
    } else if (mapping == old && taken.node != 0) {
        put_resized(taken, whole_pages(bytes));
    } else {
        end(taken);
        if (!keeps_old && mapping != old) take_range(Layer::blocks, begin, begin + old_length);
        Made moved = part;
        moved.begin = address_of(mapping);
        moved.bytes = whole_pages(bytes);
        if (taken.node != 0) moved.kind = taken.kind;
        put(Layer::mappings, moved);
    }
    return mapping;
}

SLOWPATH_EXPORT void* shmat(int identifier, const void* address, int flags) noexcept {
    Shmat* const call = next_shmat.find();
    if (call == nullptr) return missing(MAP_FAILED);
    void* const mapping = call(identifier, address, flags);
    const int saved = errno;
    shmid_ds about{};
    if (mapping != MAP_FAILED && shmctl(identifier, IPC_STAT, &about) == 0)
        put(Layer::mappings,
            {.begin = address_of(mapping), .bytes = whole_pages(about.shm_segsz), .kind = kind::shared});
    errno = saved;
    return mapping;
}

SLOWPATH_EXPORT int shmdt(const void* address) noexcept {
    Shmdt* const call = next_shmdt.find();
    if (call == nullptr) return missing(-1);
    const Taken taken = take(Layer::mappings, address_of(address));
    const int code = call(address);
    code == 0 ? end(taken) : put_back(taken);
    return code;
}
