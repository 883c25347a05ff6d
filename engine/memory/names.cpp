// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <utility>

#include "memory/buffer.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

constexpr std::array page_names{
    std::pair{Pages::system_default, "default"},
    std::pair{Pages::small, "small"},
    std::pair{Pages::huge, "huge"},
    std::pair{Pages::shared, "shared"},
};

}  // namespace

const char* name(Kind kind) {
    return entry(kind).name;
}

std::optional<Kind> kind_from(std::string_view word) {
    for (const KindEntry* candidate : registry())
        if (word == candidate->name) return candidate->kind;
    return std::nullopt;
}

const char* name(Pages pages) {
    for (const auto& [value, word] : page_names)
        if (value == pages) return word;
    throw std::logic_error("page kind without a name in memory/names.cpp");
}

std::optional<Pages> pages_from(std::string_view word) {
    for (const auto& [value, spelling] : page_names)
        if (word == spelling) return value;
    return std::nullopt;
}

bool takes(Kind kind, Pages pages) {
    return entry(kind).takes(pages);
}

bool needs_gpu(Kind kind) {
    return entry(kind).needs_gpu;
}

std::optional<std::string> unavailable(Kind kind) {
    return entry(kind).unavailable();
}

}  // namespace slowpath::memory
