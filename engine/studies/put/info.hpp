// SPDX-License-Identifier: Apache-2.0
/// Info keys of windows that are worth a measurement, by the name that the parameter window_info has for
/// them.
#pragma once

#include <span>
#include <string_view>

namespace slowpath::put {

struct WindowInfo {
    std::string_view name;
    std::string_view key;  ///< "": no key at all
    std::string_view value;
    std::string_view known_to;  ///< who says that the key exists
    std::string_view meaning;
};

/// All of them, the default first; docs/results/put.md has the same table, and a test compares the two.
std::span<const WindowInfo> window_infos();

/// @param name One of the table: the parameter's choices are its names.
const WindowInfo& find_window_info(std::string_view name);

}  // namespace slowpath::put
