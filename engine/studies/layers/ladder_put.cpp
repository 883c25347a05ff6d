// SPDX-License-Identifier: Apache-2.0
// The rungs: each piece is in all rungs from its number on (docs/results/put.md).
#include <atomic>
#include <cstdio>

#include "layers/blocks.hpp"
#include "layers/ladder_calls.hpp"
#include "layers/ladder_move.hpp"

namespace slowpath::layers::ladder {
namespace {

template <int rung>
[[gnu::always_inline]] inline int put_checked(const Arguments& put, std::uintptr_t handle) {
    WindowObject* object = nullptr;
    const Window* window = nullptr;
    if constexpr (rung >= window_handle) {
        object = object_of(handle);
        if (object != nullptr) [[likely]]
            window = object->window;
    } else {
        window = reinterpret_cast<const Window*>(handle);
    }
    if constexpr (rung >= checks) {
        if (const int code = check<rung>(put, window)) [[unlikely]]
            return code == nothing_to_do ? success : code;
    }
    Target* target = nullptr;
    if constexpr (rung >= target_lookup) {
        Reach reach;
        if (const int code = find_target(*object, put.target, target, reach)) [[unlikely]]
            return code;
        if (rung < dispatch && reach == Reach::network) [[unlikely]]
            return error_rank;
        if constexpr (rung >= dispatch) {
            return channels<rung>[static_cast<std::size_t>(reach)](
                put.origin, put.origin_count, put.origin_type, put.target, put.displacement, put.target_count,
                put.target_type, *object, *target);
        }
    }
    return move<rung>(put, *window, object, target);
}

/// Hand an error to the window's handler (MPI-4.1 section 9.3); errors of no window are returned.
template <bool is_handle>
int invoke_handler(std::uintptr_t handle, int code) {
    const WindowObject* const object =
        is_handle ? object_of(handle) : object_of(reinterpret_cast<const Window*>(handle));
    if (object == nullptr || object->error_handler == nullptr) return code;
    return object->error_handler(handle, code);
}

/// The error path. Its message names every argument, which is why none may be given up before the end of a
/// put.
template <bool is_handle>
[[gnu::noinline, gnu::cold]] int fail(const Arguments put, std::uintptr_t handle, int code) {
    std::snprintf(
        library.last_error.data(), library.last_error.size(),
        "put(origin=%p, count=%d, datatype=0x%x, target=%d, displacement=%td, count=%d, datatype=0x%x, "
        "window=0x%zx): error %d",
        static_cast<const void*>(put.origin), put.origin_count, static_cast<unsigned>(put.origin_type),
        put.target, put.displacement, put.target_count, static_cast<unsigned>(put.target_type),
        static_cast<std::size_t>(handle), code);
    return invoke_handler<is_handle>(handle, code);
}

template <bool is_handle>
[[gnu::noinline, gnu::cold]] int fail_flush(int target, std::uintptr_t handle, int code) {
    std::snprintf(library.last_error.data(), library.last_error.size(),
                  "flush(target=%d, window=0x%zx): error %d", target, static_cast<std::size_t>(handle), code);
    return invoke_handler<is_handle>(handle, code);
}

/// What each function of an MPI does first and last: is the library up, and does a lock have to be taken?
/// @param body The function itself.  @param on_error What to do with its code unless that is success.
template <int rung, typename Body, typename OnError>
[[gnu::always_inline]] inline int enter(Body body, OnError on_error) {
    int code = error_window;
    if constexpr (rung >= thread_level) {
        if (library.state.load(std::memory_order_acquire) == State::initialised) [[likely]] {
            if (library.thread_multiple) [[unlikely]]
                library.mutex.lock();
            code = body();
            if (library.thread_multiple) [[unlikely]]
                library.mutex.unlock();
        }
    } else {
        code = body();
    }
    if constexpr (rung >= error_handlers) {
        if (code != success) [[unlikely]]
            return on_error(code);
        return success;
    }
    return code;
}

template <int rung>
[[gnu::always_inline]] inline int put(const void* origin, int origin_count, Datatype origin_type, int target,
                                      std::ptrdiff_t displacement, int target_count, Datatype target_type,
                                      std::uintptr_t window) {
    const Arguments arguments{static_cast<const std::byte*>(origin),
                              origin_count,
                              origin_type,
                              target,
                              displacement,
                              target_count,
                              target_type};
    return enter<rung>([&] { return put_checked<rung>(arguments, window); },
                       [&](int code) { return fail<(rung >= window_handle)>(arguments, window, code); });
}

template <int rung>
[[gnu::always_inline]] inline int flush_checked(int rank, std::uintptr_t handle) {
    WindowObject* object = nullptr;
    const Window* window = reinterpret_cast<const Window*>(handle);
    if constexpr (rung >= window_handle) {
        object = object_of(handle);
        window = object != nullptr ? object->window : nullptr;
    }
    if constexpr (rung >= checks) {
        if (window == nullptr || window->magic != Window::living) [[unlikely]]
            return error_window;
        if (static_cast<std::uint32_t>(rank) >= window->open_ranks) [[unlikely]] {
            return why_no_target(*window, rank);
        }
    }
    if constexpr (rung >= target_lookup) {
        Target* target;
        Reach reach;
        if (const int code = find_target(*object, rank, target, reach)) [[unlikely]]
            return code;
        if constexpr (rung >= requests) complete_requests(*object);
        if constexpr (rung >= operation_counters) {
            if (target->issued != target->completed) [[unlikely]]
                return error_epoch;
        }
    }
    std::atomic_thread_fence(std::memory_order_release);
    return success;
}

template <int rung>
[[gnu::always_inline]] inline int flush(int target, std::uintptr_t window) {
    return enter<rung>([&] { return flush_checked<rung>(target, window); },
                       [&](int code) { return fail_flush<(rung >= window_handle)>(target, window, code); });
}

}  // namespace
}  // namespace slowpath::layers::ladder

namespace ladder = slowpath::layers::ladder;
using slowpath::layers::Datatype;

int slowpath_ladder_put_0(const void* origin, std::size_t bytes, int target, std::size_t offset_bytes,
                          const slowpath::layers::Window* window) {
    return slowpath::layers::copy_bytes(window->bases[target] + offset_bytes,
                                        static_cast<const std::byte*>(origin), bytes);
}

int slowpath_ladder_flush_0(int, std::uintptr_t) {
    std::atomic_thread_fence(std::memory_order_release);
    return slowpath::layers::success;
}

#define SLOWPATH_RUNG(rung)                                                                                \
    int slowpath_ladder_put_##rung(const void* origin, int origin_count, Datatype origin_type, int target, \
                                   std::ptrdiff_t displacement, int target_count, Datatype target_type,    \
                                   std::uintptr_t window) {                                                \
        return ladder::put<rung>(origin, origin_count, origin_type, target, displacement, target_count,    \
                                 target_type, window);                                                     \
    }                                                                                                      \
    int slowpath_ladder_flush_##rung(int target, std::uintptr_t window) {                                  \
        return ladder::flush<rung>(target, window);                                                        \
    }
SLOWPATH_RUNG(1)
SLOWPATH_RUNG(2)
SLOWPATH_RUNG(3)
SLOWPATH_RUNG(4)
SLOWPATH_RUNG(5)
SLOWPATH_RUNG(6)
SLOWPATH_RUNG(7)
SLOWPATH_RUNG(8)
SLOWPATH_RUNG(9)
SLOWPATH_RUNG(10)
SLOWPATH_RUNG(11)
SLOWPATH_RUNG(12)
#undef SLOWPATH_RUNG
