// SPDX-License-Identifier: Apache-2.0
#include "memory/error.hpp"

#include <system_error>
#include <utility>

namespace slowpath::memory {

Error::Error(std::string call, std::string text, std::size_t bytes)
    : std::runtime_error(call + ": " + text + " (" + std::to_string(bytes) + " bytes)"),
      call_(std::move(call)),
      text_(std::move(text)),
      bytes_(bytes) {}

Error system_error(std::string call, int code, std::size_t bytes) {
    return {std::move(call), std::generic_category().message(code), bytes};
}

}  // namespace slowpath::memory
