// SPDX-License-Identifier: Apache-2.0
/// What a full MPI keeps about itself, its windows, their targets and the device memory it has seen: the
/// tables that the ladder's pieces look things up in.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "layers/ladder_calls.hpp"
#include "layers/window.hpp"

namespace slowpath::layers::ladder {

/// Kinds of access epoch (MPI-4.1 section 12.5).
enum class Epoch : std::uint8_t { none, fence, start, lock, lock_all };

/// How far away a target is: which way to it a put takes.
enum class Reach : std::uint8_t { self, node, network };

/// What is kept of one target of one window.
struct alignas(64) Target {
    const Peer* peer = nullptr;
    Epoch epoch = Epoch::none;  ///< of this target, where the window's own kind is start or lock
    std::uint64_t issued = 0;
    std::uint64_t completed = 0;
};

/// A process that this one can speak to.
struct Process {
    std::int32_t node = 0;
    std::int32_t rank_in_node = 0;
};

/// A put that has been issued and not been completed by a flush.
struct Request {
    enum class Kind : std::uint8_t { none, copy, device } kind;
    void* operation;    ///< what would have to be waited for; null: it was done at once
    void* information;  ///< how; null: nothing special
    Request* next;
};

struct WindowObject {
    std::uint32_t handle = 0;  ///< 0: not in use
    std::int32_t references = 0;
    const Window* window = nullptr;
    LadderErrorHandler* error_handler = nullptr;
    Epoch epoch = Epoch::none;
    bool shared_memory = false;
    std::int32_t ranks = 0;
    std::int32_t own_rank = 0;
    std::unique_ptr<std::int32_t[]> process_of_rank;
    std::unique_ptr<Process[]> processes;
    std::unique_ptr<Target[]> targets;  ///< by rank in the node
    std::uint64_t issued = 0;
    std::uint64_t completed = 0;
    Request* first = nullptr;
    Request* last = nullptr;
};

/// Handles of windows say what they are and where their object is: bits 31..30 kind of storage, bits 29..26
/// kind of object, below that the index. Objects in the library's own data are `direct`; the others lie in
/// blocks.
namespace handles {
inline constexpr std::uint32_t direct = 2;
inline constexpr std::uint32_t indirect = 3;
inline constexpr std::uint32_t window = 8;
inline constexpr std::uint32_t direct_objects = 8;
inline constexpr std::uint32_t blocks = 16;
inline constexpr std::uint32_t block_objects = 64;
constexpr std::uint32_t storage_of(std::uint32_t handle) {
    return handle >> 30;
}
constexpr std::uint32_t object_of(std::uint32_t handle) {
    return handle >> 26 & 15;
}
constexpr std::uint32_t index_of(std::uint32_t handle) {
    return handle & 0x03ffffff;
}
constexpr std::uint32_t make(std::uint32_t storage, std::uint32_t index) {
    return storage << 30 | window << 26 | index;
}
}  // namespace handles

/// What a pointer is, as a GPU's driver reports it.
struct PointerAttributes {
    int device;              ///< -1: host memory
    LadderDeviceCopy* copy;  ///< null: host memory
};
using PointerQuery = void(const void* address, PointerAttributes& attributes);

struct DeviceRange {
    std::uintptr_t begin;
    std::uintptr_t end;
    LadderDeviceCopy* copy;
};

enum class State : int { uninitialised, initialised, finalised };

/// One for each process, as in every MPI.
struct Library {
    std::atomic<State> state = State::uninitialised;
    bool thread_multiple = false;
    std::int32_t own_node = 0;
    PointerQuery* query_pointer = nullptr;
    std::mutex mutex;
    std::array<WindowObject, handles::direct_objects> direct;
    std::array<std::unique_ptr<WindowObject[]>, handles::blocks> indirect;
    std::size_t device_range_count = 0;
    std::array<DeviceRange, 16> device_ranges;  ///< ascending
    std::array<char, 256> last_error{};
};
extern Library library;

/// The object behind a handle; null: no such window.
[[gnu::always_inline]] inline WindowObject* object_of(std::uintptr_t window) {
    const auto handle = static_cast<std::uint32_t>(window);
    if (handle != window || handles::object_of(handle) != handles::window) [[unlikely]]
        return nullptr;
    const std::uint32_t index = handles::index_of(handle);
    WindowObject* object = nullptr;
    switch (handles::storage_of(handle)) {
        case handles::direct:
            if (index < handles::direct_objects) object = &library.direct[index];
            break;
        case handles::indirect:
            if (index < handles::blocks * handles::block_objects) {
                WindowObject* const block = library.indirect[index / handles::block_objects].get();
                if (block != nullptr) object = block + index % handles::block_objects;
            }
            break;
        default:
            break;
    }
    if (object == nullptr || object->references <= 0) [[unlikely]]
        return nullptr;
    return object;
}

/// The same, by the window's address: what an error looks for where there are no handles yet.
WindowObject* object_of(const Window* window);

/// Complete all requests of a window, and free them.
void complete_requests(WindowObject& object);

}  // namespace slowpath::layers::ladder
