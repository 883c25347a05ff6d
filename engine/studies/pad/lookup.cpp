// SPDX-License-Identifier: Apache-2.0
#include "pad/lookup.hpp"

#include <cstring>

namespace slowpath::pad {
namespace {

constinit std::atomic<void*> originals[function_count][slot_count + 1] = {};

std::size_t number(Function function) {
    return static_cast<std::size_t>(function);
}

}  // namespace

std::atomic<void*>& original(Function function, std::size_t slot) {
    return originals[number(function)][slot];
}

Function function_named(const char* name) {
    if (name == nullptr || name[0] != 'c' || name[1] != 'u') return Function::none;
    for (std::size_t i = 0; i < function_count; ++i)
        if (std::strcmp(wrapped[i].name, name) == 0) return static_cast<Function>(i);
    return Function::none;
}

bool is_wrapper(Function function, const void* address) {
    for (const void* const wrapper : wrapped[number(function)].wrappers)
        if (wrapper == address) return true;
    return false;
}

void* wrapper_for(Function function, void* found) {
    if (is_wrapper(function, found)) return found;
    for (std::size_t slot = 0; slot < slot_count; ++slot) {
        void* known = nullptr;
        if (original(function, slot).compare_exchange_strong(known, found) || known == found)
            return wrapped[number(function)].wrappers[slot];
    }
    return found;
}

void* exported_original(Function function, const void* caller) {
    std::atomic<void*>& known = original(function, exported_slot);
    void* found = known.load();
    if (found != nullptr) return found;
    found = watch::visible_original(wrapped[number(function)].name, caller);
    if (found == nullptr) found = watch::find_anywhere(wrapped[number(function)].name);
    known.store(found);
    return found;
}

}  // namespace slowpath::pad
