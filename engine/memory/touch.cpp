// SPDX-License-Identifier: Apache-2.0
// All that distinguishes one way to touch memory from another: a new way is a row of this table.
#include "memory/touch.hpp"

#include <array>
#include <stdexcept>

#include "memory/allocation.hpp"

namespace slowpath::memory {
namespace {

struct Way {
    Touch how;
    const char* word;
    void (*page)(volatile std::byte* byte);  ///< done to one byte of each page; nullptr: nothing
};

constexpr std::array ways{
    // A write, because reading fresh private memory only maps the kernel's shared zero page.
    Way{Touch::write, "write", [](volatile std::byte* byte) { *byte = std::byte{0}; }},
    Way{Touch::read, "read", [](volatile std::byte* byte) { static_cast<void>(*byte); }},
    Way{Touch::none, "none", nullptr},
};

const Way& way_of(Touch how) {
    for (const Way& way : ways)
        if (way.how == how) return way;
    throw std::logic_error("a way to touch memory without a row in memory/touch.cpp");
}

}  // namespace

void touch_pages(Touch how, std::byte* begin, std::size_t bytes) {
    const auto page = way_of(how).page;
    if (page == nullptr || bytes == 0) return;
    for (std::size_t at = 0; at < bytes; at += system_page_bytes()) page(begin + at);
    page(begin + bytes - 1);  // an unaligned start leaves the last page behind the last full step
}

const char* name(Touch how) {
    return way_of(how).word;
}

std::optional<Touch> touch_from(std::string_view word) {
    for (const Way& way : ways)
        if (word == way.word) return way.how;
    return std::nullopt;
}

std::vector<std::string_view> touch_words() {
    std::vector<std::string_view> words;
    for (const Way& way : ways) words.emplace_back(way.word);
    return words;
}

}  // namespace slowpath::memory
