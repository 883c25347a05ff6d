// SPDX-License-Identifier: Apache-2.0
#include "watch/allocations.hpp"

#include <pthread.h>

#include <algorithm>

#include "watch/buffers.hpp"
#include "watch/file.hpp"
#include "watch/lock.hpp"

namespace slowpath::watch {
namespace {

/// Alive at once. Untouched pages of the pool cost nothing.
constexpr Index most_allocations = Index{1} << 17;

constinit Allocation pool[most_allocations] = {};
constinit Index unused = 1;  // first of the pool that never was in use
constinit Index first_free = 0;
constinit SpinLock lock;

struct Pool {
    Link& operator[](Index node) const { return pool[node].link; }
};

constinit Intervals<Pool> layers[layer_count] = {Intervals{Pool{}}, Intervals{Pool{}}, Intervals{Pool{}},
                                                 Intervals{Pool{}}};

/// How many blocks begin at addresses of this hash; what reaches the top is not counted any more.
constexpr std::size_t filter_size = std::size_t{1} << 15;
constinit std::atomic<std::uint8_t> filter[filter_size] = {};

std::atomic<std::uint8_t>& counter(Address begin) {
    // Fibonacci hashing (Knuth, The Art of Computer Programming 3, section 6.4).
    return filter[(std::uint64_t{begin} * 0x9e3779b97f4a7c15) >> 49];
}

void count(Layer layer, Address begin, int change) {
    if (layer != Layer::blocks) return;
    blocks_at_offset(begin).fetch_add(static_cast<std::uint32_t>(change), std::memory_order_release);
    std::atomic<std::uint8_t>& here = counter(begin);
    const std::uint8_t value = here.load(std::memory_order_relaxed);
    if (value != 0xff) here.store(static_cast<std::uint8_t>(value + change), std::memory_order_release);
}

Intervals<Pool>& tree(Layer layer) {
    return layers[static_cast<std::size_t>(layer)];
}

Index new_node() {
    if (const Index node = first_free) {
        first_free = pool[node].link.left;
        return node;
    }
    return unused == most_allocations ? 0 : unused++;
}

void insert(Layer layer, Index node) {
    tree(layer).insert(node);
    count(layer, pool[node].link.begin, 1);
    for (auto below = static_cast<std::size_t>(layer) + 1; below < layer_count; ++below)
        made_above_layer[below].fetch_add(1, std::memory_order_release);
}

void remove(Layer layer, Index node) {
    tree(layer).remove(node);
    count(layer, pool[node].link.begin, -1);
    pool[node].generation.fetch_add(1, std::memory_order_release);
}

void give_back(Index node) {
    pool[node].link.left = first_free;
    first_free = node;
}

/// A node of [begin, end); its fields are the caller's to fill before it is put in.  @return 0: no room.
Index make_node(Layer layer, const Made& made) {
    const Index node = new_node();
    if (node == 0) return 0;
    Allocation& allocation = pool[node];
    allocation.layer = layer;
    allocation.is_used.store(false, std::memory_order_relaxed);
    allocation.kind = made.kind;
    allocation.fixed_class = 0;
    allocation.row = no_allocation;
    allocation.uses = 0;
    allocation.ask_at = 1;
    allocation.bytes = made.is_length_known ? made.bytes : 0;
    allocation.page_bytes = made.page_bytes;
    allocation.identity = made.identity;
    allocation.link.begin = made.begin;
    allocation.link.end = made.begin + made.bytes;
    return node;
}

/// The part of `node` behind `begin`, as an allocation that has been met as often as the whole.
void put_rest(Layer layer, Index node, Address begin, Address end) {
    const Allocation& whole = pool[node];
    const Index rest = make_node(
        layer, {.begin = begin, .bytes = end - begin, .kind = whole.kind, .page_bytes = whole.page_bytes});
    if (rest == 0) return;
    pool[rest].is_used.store(whole.is_used.load(std::memory_order_relaxed), std::memory_order_relaxed);
    insert(layer, rest);
}

void clear(Layer layer, Address begin, Address end) {
    while (const Index node = tree(layer).overlapping(begin, end)) {
        const Address old_begin = pool[node].link.begin, old_end = pool[node].link.end;
        remove(layer, node);
        if (old_begin >= begin && old_end <= end) {
            give_back(node);
            continue;
        }
        if (old_begin < begin && old_end > end) put_rest(layer, node, end, old_end);
        Link& link = pool[node].link;
        if (old_begin < begin)
            link.end = begin;
        else
            link.begin = end;
        if (pool[node].bytes != 0) pool[node].bytes = link.end - link.begin;
        pool[node].ask_at = 0;
        insert(layer, node);
    }
}

void take_lock() {
    lock.take();
}
void release_lock() {
    lock.give();
}

/// Another thread may hold the lock when this one forks, and is not there in the child to give it up.
[[gnu::constructor]] void survive_fork() {
    pthread_atfork(take_lock, release_lock, release_lock);
}

}  // namespace

constinit std::atomic<std::uint32_t> block_offsets[256] = {};

constinit std::atomic<std::uint32_t> made_above_layer[layer_count] = {};

Place find_place(Address address) {
    const Guard guard(lock);
    if (!guard.held()) return {};
    Address lowest = 0, highest = ~Address{0};
    for (std::size_t layer = 0; layer < layer_count; ++layer) {
        const Index before = layers[layer].not_behind(address);
        if (before != 0 && address < pool[before].link.end) {
            Allocation& found = pool[before];
            return {&found, std::max(lowest, found.link.begin), std::min(highest, found.link.end),
                    found.generation.load(std::memory_order_relaxed),
                    made_above_layer[layer].load(std::memory_order_relaxed)};
        }
        if (before != 0) lowest = std::max(lowest, pool[before].link.end);
        if (const Index next = layers[layer].behind(address))
            highest = std::min(highest, pool[next].link.begin);
    }
    return {};
}

void put(Layer layer, const Made& made) {
    if (made.bytes == 0) return;
    const Guard guard(lock);
    if (!guard.held()) return;
    // Where memory is made, nothing lies any more: what the layers above still have there ended unseen.
    for (std::size_t above = 0; above <= static_cast<std::size_t>(layer); ++above)
        clear(static_cast<Layer>(above), made.begin, made.begin + made.bytes);
    if (layer == Layer::mappings) clear(Layer::regions, made.begin, made.begin + made.bytes);
    if (const Index node = make_node(layer, made)) insert(layer, node);
}

Taken take(Layer layer, Address begin, std::size_t bytes) {
    const Guard guard(lock);
    if (!guard.held()) return {};
    const Index node = tree(layer).at(begin);
    if (node == 0 || pool[node].link.begin != begin) return {};
    if (bytes != 0 && pool[node].link.end != begin + bytes) return {};
    remove(layer, node);
    return {begin, pool[node].link.end, node, layer, pool[node].kind};
}

void put_back(const Taken& taken) {
    if (taken.node == 0) return;
    put_resized(taken, taken.end - taken.begin);
}

void end(const Taken& taken) {
    if (taken.node == 0) return;
    const Guard guard(lock);
    if (guard.held()) give_back(taken.node);
}

void put_resized(const Taken& taken, std::size_t bytes) {
    if (taken.node == 0 || bytes == 0) return;
    const Guard guard(lock);
    if (!guard.held()) return;
    clear(taken.layer, taken.begin, taken.begin + bytes);
    Allocation& allocation = pool[taken.node];
    if (allocation.link.end != taken.begin + bytes) {
        allocation.link.end = taken.begin + bytes;
        if (allocation.bytes != 0) allocation.bytes = bytes;
        allocation.ask_at = 0;
    }
    insert(taken.layer, taken.node);
}

void take_range(Layer layer, Address begin, Address end) {
    const Guard guard(lock);
    if (!guard.held()) return;
    clear(layer, begin, end);
    if (layer == Layer::mappings) clear(Layer::regions, begin, end);
}

void put_region(const Made& made) {
    const Guard guard(lock);
    if (!guard.held()) return;
    const Address end = made.begin + made.bytes;
    Intervals<Pool>& regions = tree(Layer::regions);
    const Index old = regions.overlapping(made.begin, end);
    const bool has_grown = old != 0 && pool[old].kind == made.kind &&
                           (pool[old].link.begin == made.begin || pool[old].link.end == end);
    if (!has_grown) {
        clear(Layer::regions, made.begin, end);
        if (const Index node = make_node(Layer::regions, made)) insert(Layer::regions, node);
        return;
    }
    remove(Layer::regions, old);
    clear(Layer::regions, made.begin, end);
    pool[old].link.begin = made.begin;
    pool[old].link.end = end;
    if (pool[old].bytes != 0) pool[old].bytes = made.bytes;
    insert(Layer::regions, old);
}

bool may_begin_block(Address begin) {
    return counter(begin).load(std::memory_order_acquire) != 0;
}

std::size_t known_bytes(Layer layer, Address address) {
    const Guard guard(lock);
    const Index node = guard.held() ? tree(layer).at(address) : 0;
    return node == 0 ? 0 : pool[node].link.end - pool[node].link.begin;
}

namespace {

constinit SpinLock rows_lock;

}  // namespace

std::uint32_t new_row(const layout::Allocation& row) {
    const Guard guard(rows_lock);
    layout::Allocation* const fresh = guard.held() ? sections().allocations.next() : nullptr;
    if (fresh == nullptr) return no_allocation;
    *fresh = row;
    return sections().allocations.publish();
}

layout::Allocation* row_at(std::uint32_t row) {
    return row == no_allocation ? nullptr : &sections().allocations[row];
}

}  // namespace slowpath::watch
