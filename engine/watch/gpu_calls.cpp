// SPDX-License-Identifier: Apache-2.0
/// The wrappers of the functions that make GPU memory, and what they note.
#include <iterator>
#include <utility>

#include "watch/allocations.hpp"
#include "watch/gpu_functions.hpp"

namespace slowpath::watch {
namespace {

using Word = std::uintptr_t;

constexpr GpuFunction table[] = {
#define X(name, base, action, memory) {#name, #base, Action::action, kind::memory},
#include "watch/gpu_functions.inc"
#undef X
};
constexpr std::size_t count = std::size(table);
static_assert(count <= 64);

enum Number : std::size_t {
#define X(name, base, action, memory) number_of_##name,
#include "watch/gpu_functions.inc"
#undef X
};

// CUDA_ERROR_NOT_INITIALIZED, cudaErrorInitializationError and hipErrorNotInitialized.
constexpr int not_initialized = 3;
/// By which device memory is mapped (cuMemGetAllocationGranularity).
constexpr std::size_t device_page_bytes = std::size_t{2} << 20;

/// A runtime's function calls the driver's, which notes first: its length is what counts.
[[gnu::tls_model("initial-exec")]] thread_local constinit unsigned notes = 0;

void note(const GpuFunction& function, Word pointer, std::size_t bytes) {
    ++notes;
    put(Layer::declared, {.begin = pointer,
                          .bytes = bytes,
                          .kind = function.kind,
                          .page_bytes = function.kind == kind::device ? device_page_bytes : 0});
}

int release(Five* call, Word a, Word b, Word c, Word d, Word e) {
    const Taken taken = take(Layer::declared, a);
    const int code = call(a, b, c, d, e);
    if (code == 0)
        end(taken);
    else
        put_back(taken);
    return code;
}

int forward(std::size_t number, void* original, Word a, Word b, Word c, Word d, Word e) {
    if (original == nullptr) return not_initialized;
    auto* const call = reinterpret_cast<Five*>(original);
    const GpuFunction& function = table[number];
    if (function.action == Action::release) return release(call, a, b, c, d, e);
    const unsigned before = notes;
    const int code = call(a, b, c, d, e);
    if (code != 0) return code;
    switch (function.action) {
        case Action::find_by_version:
            substitute_gpu_function(reinterpret_cast<const char*>(a), static_cast<int>(c),
                                    reinterpret_cast<void**>(b));
            break;
        case Action::find_by_flags:
            substitute_gpu_function(reinterpret_cast<const char*>(a), 0, reinterpret_cast<void**>(b));
            break;
        case Action::allocate:
            if (notes == before) note(function, *reinterpret_cast<const Word*>(a), b);
            break;
        case Action::allocate_pitch:
            if (notes == before)
                note(function, *reinterpret_cast<const Word*>(a),
                     *reinterpret_cast<const std::size_t*>(b) * d);
            break;
        case Action::enroll:
            if (notes == before) note(function, a, b);
            break;
        case Action::release:
            break;
    }
    return code;
}

template <std::size_t number, std::size_t slot>
int wrapper(Word a, Word b, Word c, Word d, Word e) {
    return forward(number, gpu_original(number, slot).load(), a, b, c, d, e);
}

using Slots = Five* [gpu_slots];

template <std::size_t number>
struct Wrappers {
    static constexpr Slots slots = {&wrapper<number, 0>, &wrapper<number, 1>, &wrapper<number, 2>,
                                    &wrapper<number, 3>};
};

template <std::size_t... numbers>
Five* wrapper_in(std::size_t number, std::size_t slot, std::index_sequence<numbers...>) {
    static constexpr Five* const* all[] = {Wrappers<numbers>::slots...};
    return all[number][slot];
}

}  // namespace

const std::size_t gpu_function_count = count;

}  // namespace slowpath::watch

#define X(name, base, action, memory)                                                                        \
    extern "C" [[gnu::visibility("default")]] int name(std::uintptr_t a, std::uintptr_t b, std::uintptr_t c, \
                                                       std::uintptr_t d, std::uintptr_t e) {                 \
        using namespace slowpath::watch;                                                                     \
        return forward(number_of_##name,                                                                     \
                       exported_gpu_original(number_of_##name, __builtin_return_address(0)), a, b, c, d, e); \
    }
#include "watch/gpu_functions.inc"
#undef X

namespace slowpath::watch {

#define X(name, base, action, memory) table[number_of_##name],
const GpuFunction gpu_functions[] = {
#include "watch/gpu_functions.inc"
};
#undef X

Five* gpu_wrapper(std::size_t function, std::size_t slot) {
    static Five* const exported[] = {
#define X(name, base, action, memory) &name,
#include "watch/gpu_functions.inc"
#undef X
    };
    return slot == exported_slot ? exported[function]
                                 : wrapper_in(function, slot, std::make_index_sequence<count>());
}

}  // namespace slowpath::watch
