// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace slowpath::memory {

/// What is done to each page of an allocation of host memory before its first use.
enum class Touch { write, read, none };

/// Touches each page of [begin, begin + bytes).
void touch_pages(Touch how, std::byte* begin, std::size_t bytes);

const char* name(Touch how);
std::optional<Touch> touch_from(std::string_view word);
/// All words that touch_from() takes.
std::vector<std::string_view> touch_words();

}  // namespace slowpath::memory
