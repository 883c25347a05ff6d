// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace slowpath::memory {

/// A memory call that failed: which, for how many bytes, and what the system reported.
class Error : public std::runtime_error {
  public:
    Error(std::string call, std::string text, std::size_t bytes);

    const std::string& call() const noexcept { return call_; }
    const std::string& text() const noexcept { return text_; }
    std::size_t bytes() const noexcept { return bytes_; }

  private:
    std::string call_;
    std::string text_;
    std::size_t bytes_;
};

/// An Error with the text of errno value `code`.
Error system_error(std::string call, int code, std::size_t bytes);

}  // namespace slowpath::memory
