// SPDX-License-Identifier: Apache-2.0
#include "plant/allocations.hpp"

#include <atomic>

namespace slowpath::plant {
namespace {

constexpr std::size_t most = 4096;

struct Entry {
    std::uintptr_t base;
    std::uint64_t bytes;  // 0: free
    std::uint64_t uses[calls];
    std::uint64_t last_use[calls];  // on a clock that ticks with each use of that kind
};

// Mappings beyond `most` are not known; the engine has a few hundred.
Entry entries[most];
std::size_t in_use = 0;  // entries beyond it are free
struct Own {
    std::uintptr_t base;
    std::uint64_t bytes;
};
Own own[most];
std::size_t own_count = 0;
std::uint64_t ticks[calls];
std::atomic_flag lock = ATOMIC_FLAG_INIT;

class Guard {
  public:
    Guard() {
        while (lock.test_and_set(std::memory_order_acquire)) {
        }
    }
    ~Guard() { lock.clear(std::memory_order_release); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;
};

}  // namespace

void note_mapping(const void* base, std::size_t bytes) {
    const Guard guard;
    std::size_t slot = 0;
    while (slot < in_use && entries[slot].bytes != 0) ++slot;
    if (slot == most) return;
    if (slot == in_use) ++in_use;
    entries[slot] = {reinterpret_cast<std::uintptr_t>(base), bytes, {}, {}};
}

void forget_mappings(const void* begin, std::size_t bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(begin);
    const Guard guard;
    for (std::size_t i = 0; i < in_use; ++i)
        if (entries[i].base - first < bytes) entries[i].bytes = 0;
}

Use use_mapping(const void* address, Call call) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const auto kind = static_cast<std::size_t>(call);
    const Guard guard;
    Entry* found = nullptr;
    for (std::size_t i = 0; i < in_use && found == nullptr; ++i)
        if (at - entries[i].base < entries[i].bytes) found = &entries[i];
    if (found == nullptr) return {};
    Use use{true, found->bytes, found->uses[kind], 0};
    for (std::size_t i = 0; i < in_use; ++i)
        if (entries[i].bytes != 0 && entries[i].last_use[kind] > found->last_use[kind]) ++use.newer;
    ++found->uses[kind];
    found->last_use[kind] = ++ticks[kind];
    return use;
}

void note_alloc_mem(const void* base, std::size_t bytes) {
    const Guard guard;
    if (own_count < most) own[own_count++] = {reinterpret_cast<std::uintptr_t>(base), bytes};
}

void forget_alloc_mem(const void* base) {
    const auto at = reinterpret_cast<std::uintptr_t>(base);
    const Guard guard;
    for (std::size_t i = 0; i < own_count; ++i) {
        if (own[i].base != at) continue;
        own[i] = own[--own_count];
        return;
    }
}

bool is_alloc_mem(const void* address) {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    const Guard guard;
    for (std::size_t i = 0; i < own_count; ++i)
        if (at - own[i].base < own[i].bytes) return true;
    return false;
}

}  // namespace slowpath::plant
