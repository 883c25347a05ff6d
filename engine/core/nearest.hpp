// SPDX-License-Identifier: Apache-2.0
/// The known word that a misspelt one most likely meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace slowpath {

/// Levenshtein distance: insertions, deletions, replacements.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// " (did you mean X?)", or the list of valid words when none is near.  @param words at least one.
std::string suggestion(std::string_view word, std::span<const std::string_view> words);

}  // namespace slowpath
