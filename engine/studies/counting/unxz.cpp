// SPDX-License-Identifier: Apache-2.0
#include "counting/unxz.hpp"

#include <dlfcn.h>

#include <cstddef>

namespace slowpath::counting {
namespace {

// lzma/container.h of XZ Utils 5: an interface that is kept as long as the library is liblzma.so.5.
using Decode = int (*)(std::uint64_t* memory_limit, std::uint32_t flags, const void* allocator,
                       const std::uint8_t* in, std::size_t* in_at, std::size_t in_bytes, std::uint8_t* out,
                       std::size_t* out_at, std::size_t out_bytes);
constexpr int ok = 0;
constexpr int output_too_short = 10;

Decode decoder() {
    static const auto found = [] {
        void* const library = dlopen("liblzma.so.5", RTLD_NOW | RTLD_LOCAL);
        void* const symbol = library == nullptr ? nullptr : dlsym(library, "lzma_stream_buffer_decode");
        return reinterpret_cast<Decode>(symbol);
    }();
    return found;
}

}  // namespace

std::vector<std::uint8_t> unxz(std::span<const std::uint8_t> stream) {
    constexpr std::size_t most_bytes = std::size_t{1} << 30;
    const Decode decode = decoder();
    if (decode == nullptr) return {};
    for (std::size_t bytes = 8 * stream.size() + 4096; bytes <= most_bytes; bytes *= 4) {
        std::vector<std::uint8_t> content(bytes);
        std::uint64_t memory_limit = most_bytes;
        std::size_t in_at = 0;
        std::size_t out_at = 0;
        const int code = decode(&memory_limit, 0, nullptr, stream.data(), &in_at, stream.size(),
                                content.data(), &out_at, content.size());
        if (code == ok) {
            content.resize(out_at);
            return content;
        }
        if (code != output_too_short) break;
    }
    return {};
}

}  // namespace slowpath::counting
