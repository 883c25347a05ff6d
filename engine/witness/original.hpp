// SPDX-License-Identifier: Apache-2.0
/// The functions behind the wrappers: the next definition after this library's, which need not be the C
/// library's.
#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cerrno>
#include <initializer_list>

namespace slowpath::witness {

/// One function that this library wraps. Ready before any code runs: libraries that are initialised earlier
/// may call the wrapper.
class Original {
  public:
    /// @param name Lives for ever.
    constexpr explicit Original(const char* name) : name_(name) {}

    /// nullptr: no loaded library has it.
    void* address() {
        void* found = address_.load(std::memory_order_relaxed);
        if (found != nullptr) [[likely]]
            return found;
        const int saved = errno;
        found = dlsym(RTLD_NEXT, name_);
        errno = saved;
        address_.store(found, std::memory_order_relaxed);
        return found;
    }

  private:
    const char* name_;
    std::atomic<void*> address_{nullptr};
};

/// To be done when the library is loaded: dlsym is not async-signal-safe, and the wrappers have to be.
inline void look_up(std::initializer_list<Original*> originals) {
    for (Original* original : originals) original->address();
}

/// Call the original; ENOSYS where there is none, as the C library says of calls that the kernel lacks.
/// @param like The wrapper, for its type.
template <class Result, class... Types, class... Arguments>
Result call(Original& original, [[maybe_unused]] Result (*like)(Types...), Arguments... arguments) {
    void* const found = original.address();
    if (found == nullptr) {
        errno = ENOSYS;
        return (Result)(-1);  // of a pointer: MAP_FAILED
    }
    return reinterpret_cast<Result (*)(Types...)>(found)(arguments...);
}

}  // namespace slowpath::witness
