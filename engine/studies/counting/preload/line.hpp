// SPDX-License-Identifier: Apache-2.0
/// One line of JSON, written piece by piece to a file without allocating; safe in signal handlers.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::counting::preload {

/// Opens the file to append to, and closes it at the end: a descriptor that is kept may be closed by the
/// program, and then stand for a file of the program's.
class Line {
  public:
    explicit Line(const char* path);
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    Line& json(const char* text);  ///< as it is
    Line& text(const char* text);  ///< quoted; null for nullptr
    Line& text(const char* text, std::size_t length);
    Line& number(std::uint64_t value);

  private:
    void letter(char letter);
    void flush();

    static constexpr std::size_t buffer_bytes = 1024;
    int file_;
    std::size_t filled_ = 0;
    char buffer_[buffer_bytes];
};

}  // namespace slowpath::counting::preload
