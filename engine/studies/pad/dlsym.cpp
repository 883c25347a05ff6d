// SPDX-License-Identifier: Apache-2.0
/// dlsym, so that programs and libraries that open libcuda themselves get the wrappers.
#include <dlfcn.h>

#include "pad/lookup.hpp"

namespace slowpath::pad {
namespace {

[[gnu::noinline]] void* find(Function function, void* handle, const char* name, const void* caller) {
    void* const found = real_dlsym()(handle, name);
    if (found == nullptr) return nullptr;
    if (!is_wrapper(function, found)) return wrapper_for(function, found);
    // The search met the exported symbol of this library. Without an original there is no such function for
    // the caller, who may well ask in order to learn whether there is CUDA; the second search leaves
    // dlerror's text.
    return watch::visible_original(name, caller) != nullptr ? found : next_definition(name);
}

[[gnu::noinline]] void* find_to_patch(Function function, void* handle, const char* name, const void* caller) {
    const bool any = handle == RTLD_NEXT || handle == RTLD_DEFAULT;
    void* const found = any ? nullptr : real_dlsym()(handle, name);
    return found != nullptr && !is_wrapper(function, found) ? found : exported_original(function, caller);
}

}  // namespace
}  // namespace slowpath::pad

/// What dlsym finds for RTLD_NEXT and RTLD_DEFAULT depends on the library that its return address is in. So
/// all searches that are none of our business go on as a jump, which keeps that address; hence -O2, in any
/// build.
extern "C" [[gnu::visibility("default")]] void* dlsym(void* __restrict handle,
                                                      const char* __restrict name) noexcept {
    using namespace slowpath::pad;
    const Function function = function_named(name);
    if (function == Function::none) return real_dlsym()(handle, name);
    if (patches_code(__builtin_return_address(0)))
        return find_to_patch(function, handle, name, __builtin_return_address(0));
    if (handle == RTLD_NEXT) return real_dlsym()(handle, name);
    return find(function, handle, name, __builtin_return_address(0));
}
