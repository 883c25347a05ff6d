// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/line.hpp"

#include <cstring>

#include "counting/preload/kernel.hpp"

namespace slowpath::counting::preload {

Line::Line(const char* path) : file_(open_file(path, O_WRONLY | O_CREAT | O_APPEND, 0644)) {}

Line::~Line() {
    letter('\n');
    flush();
    if (file_ >= 0) close_file(file_);
}

void Line::flush() {
    for (std::size_t done = 0; file_ >= 0 && done < filled_;) {
        const long written =
            kernel(SYS_write, static_cast<std::uint64_t>(file_), word(buffer_ + done), filled_ - done);
        if (written <= 0) break;  // a full disk: the reader reports a line that is cut off
        done += static_cast<std::size_t>(written);
    }
    filled_ = 0;
}

void Line::letter(char letter) {
    if (filled_ == buffer_bytes) flush();
    buffer_[filled_++] = letter;
}

Line& Line::json(const char* text) {
    for (; *text != '\0'; ++text) letter(*text);
    return *this;
}

Line& Line::text(const char* text) {
    return text == nullptr ? json("null") : this->text(text, std::strlen(text));
}

Line& Line::text(const char* text, std::size_t length) {
    constexpr const char* digits = "0123456789abcdef";
    letter('"');
    for (std::size_t i = 0; i < length; ++i) {
        const auto code = static_cast<unsigned char>(text[i]);
        if (code == '"' || code == '\\') letter('\\');
        if (code >= 0x20 && code < 0x7f) {
            letter(text[i]);
        } else {  // a byte of a path, whatever its encoding: as json_text of engine/core does
            json("\\u00");
            letter(digits[code >> 4]);
            letter(digits[code & 15]);
        }
    }
    letter('"');
    return *this;
}

Line& Line::number(std::uint64_t value) {
    char digits[20];
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (count > 0) letter(digits[--count]);
    return *this;
}

}  // namespace slowpath::counting::preload
