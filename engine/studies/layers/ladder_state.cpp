// SPDX-License-Identifier: Apache-2.0
#include "layers/ladder_state.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace slowpath::layers::ladder {

Library library;

namespace {

/// Ask the cache of the ranges that were seen to be device memory.
void search_ranges(const void* address, PointerAttributes& attributes) {
    attributes = {.device = -1, .copy = nullptr};
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    std::size_t low = 0;
    std::size_t high = library.device_range_count;
    while (low < high) {
        const std::size_t middle = (low + high) / 2;
        const DeviceRange& range = library.device_ranges[middle];
        if (at < range.begin) {
            high = middle;
        } else if (at >= range.end) {
            low = middle + 1;
        } else {
            attributes = {.device = 0, .copy = range.copy};
            return;
        }
    }
}

template <typename Take>
void each_object(Take take) {
    for (std::uint32_t i = 0; i < handles::direct_objects; ++i) {
        if (take(library.direct[i], handles::make(handles::direct, i))) return;
    }
    for (std::uint32_t block = 0; block < handles::blocks; ++block) {
        if (library.indirect[block] == nullptr) return;
        for (std::uint32_t i = 0; i < handles::block_objects; ++i) {
            const std::uint32_t index = block * handles::block_objects + i;
            if (take(library.indirect[block][i], handles::make(handles::indirect, index))) return;
        }
    }
}

/// One more block of objects. @return False: no memory, or no block left.
bool add_block() {
    for (auto& block : library.indirect) {
        if (block != nullptr) continue;
        block.reset(new (std::nothrow) WindowObject[handles::block_objects]);
        return block != nullptr;
    }
    return false;
}

/// An object that is not in use, with its handle; null: none left.
WindowObject* take_free() {
    WindowObject* found = nullptr;
    const auto take = [&](WindowObject& object, std::uint32_t handle) {
        if (object.references != 0) return false;
        object.handle = handle;
        found = &object;
        return true;
    };
    each_object(take);
    if (found == nullptr && add_block()) each_object(take);
    return found;
}

/// All ranks of a window that is reached by loads and stores are in this node, in the order of their ranks.
bool fill(WindowObject& object, const Window& window) {
    const auto ranks = static_cast<std::size_t>(window.ranks);
    object.process_of_rank.reset(new (std::nothrow) std::int32_t[ranks]);
    object.processes.reset(new (std::nothrow) Process[ranks]);
    object.targets.reset(new (std::nothrow) Target[ranks]);
    if (!object.process_of_rank || !object.processes || !object.targets) return false;
    for (std::int32_t rank = 0; rank < window.ranks; ++rank) {
        object.process_of_rank[static_cast<std::size_t>(rank)] = rank;
        object.processes[static_cast<std::size_t>(rank)] = {.node = library.own_node, .rank_in_node = rank};
        object.targets[static_cast<std::size_t>(rank)].peer = window.peers + rank;
    }
    object.references = 1;
    object.window = &window;
    object.shared_memory = true;
    object.ranks = window.ranks;
    object.own_rank = window.own_rank;
    return true;
}

}  // namespace

WindowObject* object_of(const Window* window) {
    WindowObject* found = nullptr;
    each_object([&](WindowObject& object, std::uint32_t) {
        if (object.references != 0 && object.window == window) found = &object;
        return found != nullptr;
    });
    return found;
}

void complete_requests(WindowObject& object) {
    while (Request* const request = object.first) {
        // Copies between processes of a node are done when they are issued: there is never anything to wait
        // for.
        object.first = request->next;
        std::free(request);
    }
    object.last = nullptr;
}

}  // namespace slowpath::layers::ladder

namespace ladder = slowpath::layers::ladder;

std::uint32_t slowpath_ladder_attach(const slowpath::layers::Window* window) {
    ladder::library.query_pointer = ladder::search_ranges;
    ladder::library.state.store(ladder::State::initialised);
    ladder::WindowObject* object = ladder::object_of(window);
    // Another window may have come to the address of one that ended without a word.
    if (object != nullptr && (object->ranks != window->ranks || object->targets[0].peer != window->peers)) {
        slowpath_ladder_detach(object->handle);
        object = nullptr;
    }
    if (object == nullptr) {
        object = ladder::take_free();
        if (object == nullptr || !ladder::fill(*object, *window)) return 0;
    }
    object->epoch = window->open_ranks == 0 ? ladder::Epoch::none : ladder::Epoch::lock_all;
    return object->handle;
}

void slowpath_ladder_detach(std::uint32_t handle) {
    ladder::WindowObject* const object = ladder::object_of(handle);
    if (object == nullptr) return;
    ladder::complete_requests(*object);
    *object = ladder::WindowObject();
}

void slowpath_ladder_set_thread_multiple(bool multiple) {
    ladder::library.thread_multiple = multiple;
}

void slowpath_ladder_set_error_handler(std::uint32_t handle, slowpath::layers::LadderErrorHandler* handler) {
    ladder::WindowObject* const object = ladder::object_of(handle);
    if (object != nullptr) object->error_handler = handler;
}

bool slowpath_ladder_add_device_range(const void* base, std::size_t bytes,
                                      slowpath::layers::LadderDeviceCopy* copy) {
    ladder::Library& library = ladder::library;
    if (library.device_range_count == library.device_ranges.size()) return false;
    const auto begin = reinterpret_cast<std::uintptr_t>(base);
    library.device_ranges[library.device_range_count++] = {begin, begin + bytes, copy};
    std::sort(library.device_ranges.begin(),
              library.device_ranges.begin() + static_cast<std::ptrdiff_t>(library.device_range_count),
              [](const auto& a, const auto& b) { return a.begin < b.begin; });
    return true;
}

void slowpath_ladder_clear_device_ranges() {
    ladder::library.device_range_count = 0;
}

std::size_t slowpath_ladder_pending(std::uint32_t handle) {
    const ladder::WindowObject* const object = ladder::object_of(handle);
    std::size_t pending = 0;
    if (object != nullptr) {
        for (const ladder::Request* request = object->first; request != nullptr; request = request->next)
            ++pending;
    }
    return pending;
}

const char* slowpath_ladder_last_error() {
    return ladder::library.last_error.data();
}
