// SPDX-License-Identifier: Apache-2.0
#include "watch/buffers.hpp"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <initializer_list>

#include "watch/allocations.hpp"
#include "watch/loader.hpp"
#include "watch/maps.hpp"

namespace slowpath::watch {
namespace {

using GetAttribute = int(void* value, int attribute, Address pointer);
constinit std::atomic<GetAttribute*> get_attribute{nullptr};

// CUpointer_attribute and CUmemorytype, CUDA Driver API, unified addressing.
constexpr int memory_type = 2, buffer_id = 7, is_managed = 8, range_start = 11, range_size = 12;
constexpr unsigned type_host = 1, type_device = 2;

template <class Value>
bool ask(int attribute, Address address, Value& value) {
    return get_attribute.load(std::memory_order_relaxed)(&value, attribute, address) == 0;
}

}  // namespace

bool find_driver() {
    if (get_attribute.load(std::memory_order_relaxed) != nullptr) return true;
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    void* const found = real_dlsym()(driver, "cuPointerGetAttribute");
    dlclose(driver);
    get_attribute.store(reinterpret_cast<GetAttribute*>(found), std::memory_order_relaxed);
    return found != nullptr;
}

GpuMemory ask_driver(Address address) {
    GpuMemory memory;
    unsigned type = 0, managed = 0;
    if (!ask(memory_type, address, type) || (type != type_host && type != type_device)) return memory;
    memory.kind = type == type_device ? kind::device : kind::pinned;
    if (ask(is_managed, address, managed) && managed != 0) memory.kind = kind::managed;
    if (!ask(range_start, address, memory.begin) || !ask(range_size, address, memory.bytes))
        memory.begin = memory.bytes = 0;
    if (!ask(buffer_id, address, memory.identity)) memory.identity = 0;
    return memory;
}

namespace {

/// Places that this thread met last, by granule of the address.
constexpr std::size_t known_places = 128;
constexpr unsigned granule_shift = 16;
[[gnu::tls_model("initial-exec")]] thread_local constinit Place places[known_places] = {};

constexpr std::size_t huge_page_bytes = std::size_t{2} << 20;

constexpr unsigned page_shift = 4;
constexpr std::uint16_t odd_length = 1 << 8, length_known = 1 << 9, no_buffer = 1 << 10;

std::uint16_t page_number(std::size_t page_bytes) {
    if (page_bytes == 0) return 0;
    if (page_bytes >= huge_page_bytes) return 3;
    return page_bytes > base_page_bytes() ? 2 : 1;
}

std::uint16_t class_without_start(const Allocation& a) {
    unsigned value = a.kind | static_cast<unsigned>(page_number(a.page_bytes)) << page_shift;
    if (a.bytes != 0) value |= length_known;
    if (a.page_bytes != 0 && a.bytes % a.page_bytes != 0) value |= odd_length;
    return static_cast<std::uint16_t>(value);
}

bool is_gpu(std::uint16_t memory) {
    return memory == kind::pinned || memory == kind::device || memory == kind::managed;
}

/// Mappings are what the kernel calls them, whatever the program asked for: files may be shared memory.
void ask_for_pages(Allocation& a, const Place& place, Address address, std::size_t bytes) {
    if (a.kind == kind::device || a.kind == kind::managed) {
        return;
    }
    const std::size_t pages = page_bytes_of(address, std::min(address + bytes, place.end));
    if (pages != 0) a.page_bytes = pages;
    // The kernel's map has the pages of a pool of huge ones, of 1 GiB too, and whether a file is shared
    // memory.
    if (a.layer != Layer::mappings && pages == base_page_bytes()) return;
    const Region region = region_of(address);
    if (a.kind == kind::file && region.kind != kind::unknown) a.kind = region.kind;
    if (region.page_bytes != 0) a.page_bytes = region.page_bytes;
}

void fill(layout::Allocation& row, const Allocation& a) {
    row.bytes = a.bytes;
    row.page_bytes = a.page_bytes;
    row.kind = a.kind;
}

/// At the first use, and rarely later: pages come when memory is written, and may be joined to large ones
/// then.
[[gnu::noinline]] void learn(const Place& place, Address address, std::size_t bytes, BufferView& view) {
    Allocation& a = *place.allocation;
    ask_for_pages(a, place, address, bytes);
    a.fixed_class = class_without_start(a);
    // Soon again as long as nothing is known, else at each doubling.
    const std::uint32_t uses = a.uses;
    a.ask_at = a.page_bytes == 0 && uses < 64 ? uses + 1 : std::max(2 * uses, 64u);
    view.is_first = !a.is_used.exchange(true, std::memory_order_relaxed);
    if (view.is_first || (uses == 1 && a.row == no_allocation)) {
        layout::Allocation row{};
        row.address = a.layer == Layer::regions ? place.begin : a.link.begin;
        fill(row, a);
        a.row = new_row(row);
    } else if (layout::Allocation* const row = row_at(a.row)) {
        fill(*row, a);
    }
}

/// Memory that nobody saw being made.
void discover(Address address) {
    if (find_driver()) {
        const GpuMemory memory = ask_driver(address);
        if (memory.kind != kind::unknown) {
            put(Layer::declared, {.begin = memory.bytes != 0 ? memory.begin : address,
                                  .bytes = memory.bytes != 0 ? memory.bytes : 1,
                                  .kind = memory.kind,
                                  .page_bytes = memory.kind == kind::pinned ? 0 : huge_page_bytes,
                                  .is_length_known = memory.bytes != 0,
                                  .identity = memory.identity});
            return;
        }
    }
    const Region region = region_of(address);
    if (region.end == 0) return;
    put_region({.begin = region.begin,
                .bytes = region.end - region.begin,
                .kind = region.kind,
                .page_bytes = region.page_bytes,
                .is_length_known = region.is_length_known});
}

[[gnu::noinline]] bool look_up(Address address, Place& place) {
    Place found = find_place(address);
    if (found.allocation == nullptr) {
        discover(address);
        found = find_place(address);
    }
    if (found.allocation == nullptr) return false;
    place = found;
    return true;
}

Layer layer_of(std::uint16_t memory) {
    if (is_gpu(memory) || memory == kind::mpi) return Layer::declared;
    return memory == kind::heap ? Layer::blocks : Layer::mappings;
}

}  // namespace

BufferView view_buffer(const void* pointer, std::size_t bytes) {
    BufferView view;
    if (bytes == 0) {
        view.buffer_class = no_buffer;
        return view;
    }
    const auto address = reinterpret_cast<Address>(pointer);
    Place& place = places[(address >> granule_shift) % known_places];
    const bool is_known =
        place.allocation != nullptr && address >= place.begin && address < place.end && holds(place);
    if (!is_known && !look_up(address, place)) {
        view.buffer_class = start_class(address);
        return view;
    }
    Allocation& a = *place.allocation;
    if (++a.uses >= a.ask_at) [[unlikely]]
        learn(place, address, bytes, view);
    view.allocation = a.row;
    view.buffer_class = a.fixed_class | start_class(address);
    view.allocation_bytes = a.bytes;
    if (layout::Allocation* const row = row_at(a.row)) {
        row->buffer_class = view.buffer_class;
    }
    return view;
}

void allocated(void* address, std::size_t bytes, std::uint16_t memory, std::size_t page_bytes) {
    put(layer_of(memory), {.begin = reinterpret_cast<Address>(address),
                           .bytes = bytes,
                           .kind = memory,
                           .page_bytes = page_bytes});
}

void freed(void* address) {
    for (const Layer layer : {Layer::declared, Layer::blocks, Layer::mappings}) {
        const Taken taken = take(layer, reinterpret_cast<Address>(address));
        if (taken.node == 0) continue;
        end(taken);
        return;
    }
}

}  // namespace slowpath::watch
