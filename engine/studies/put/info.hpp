// SPDX-License-Identifier: Apache-2.0
/// Info keys of windows that are worth a measurement, by the name that the parameter window_info has for
/// them.
#pragma once

#include <string_view>

namespace slowpath::put {

struct WindowInfo {
    std::string_view name;
    std::string_view key;  ///< "": no key at all
    std::string_view value;
};

/// @param name A choice of the parameter.
const WindowInfo& find_window_info(std::string_view name);

}  // namespace slowpath::put
