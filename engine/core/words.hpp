// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace slowpath {

/// The words of a parameter's choice, each with its value. The declaration of the parameter and the reader of
/// its value share this table, so that a new value is one more row.
template <typename Value, std::size_t count>
using Words = std::array<std::pair<Value, const char*>, count>;

template <typename Value, std::size_t count>
std::vector<std::string_view> choices_of(const Words<Value, count>& words) {
    std::vector<std::string_view> choices;
    for (const auto& [value, word] : words) choices.emplace_back(word);
    return choices;
}

/// @throws std::logic_error: `text` is none of the words, which the declared choices rule out.
template <typename Value, std::size_t count>
Value value_of(const Words<Value, count>& words, std::string_view text) {
    for (const auto& [value, word] : words)
        if (text == word) return value;
    throw std::logic_error("'" + std::string(text) + "' is no declared choice");
}

}  // namespace slowpath
