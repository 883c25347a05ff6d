// SPDX-License-Identifier: Apache-2.0
#include "counting/preload/record.hpp"

#include <sys/utsname.h>

#include <cstdio>
#include <cstring>

#include "counting/preload/kernel.hpp"
#include "counting/preload/line.hpp"
#include "counting/preload/settings.hpp"

namespace slowpath::counting::preload {
namespace {

constexpr std::size_t path_bytes = 4096;

/// Appends as far as there is room.
char* append(char* to, const char* end, const char* text) {
    while (*text != '\0' && to + 1 < end) *to++ = *text++;
    *to = '\0';
    return to;
}

char* append_number(char* to, const char* end, unsigned value) {
    char digits[12];
    int count = 0;
    do {
        digits[count++] = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value > 0);
    while (count > 0 && to + 1 < end) *to++ = digits[--count];
    *to = '\0';
    return to;
}

/// The executable lines of /proc/self/maps, as the elements of a list.
class ExecutableLines {
  public:
    explicit ExecutableLines(Line& line) : line_(line) {}

    void take(char letter) {
        if (letter != '\n') {
            if (length_ < sizeof text_) text_[length_++] = letter;
            return;
        }
        // "BEGIN-END r-xp OFFSET ..."
        const auto* const blank = static_cast<const char*>(std::memchr(text_, ' ', length_));
        if (blank != nullptr && blank + 3 < text_ + length_ && blank[3] == 'x') {
            if (told_) line_.json(", ");
            line_.text(text_, length_);
            told_ = true;
        }
        length_ = 0;
    }

  private:
    Line& line_;
    bool told_ = false;
    std::size_t length_ = 0;
    char text_[path_bytes + 128];
};

}  // namespace

bool Record::begun() const {
    return process_ == process_id();
}

void Record::begin() {
    process_ = process_id();
    mappings_told_ = false;
    utsname system{};
    kernel(SYS_uname, word(&system));
    const char* const end = path_ + sizeof path_;
    char* at = append(path_, end, settings().folder);
    at = append(append(at, end, "/"), end, system.nodename);
    at = append_number(append(at, end, "-"), end, static_cast<unsigned>(process_));
    append(at, end, ".jsonl");
    char program[path_bytes];
    const long length = kernel(SYS_readlinkat, static_cast<std::uint64_t>(AT_FDCWD), word("/proc/self/exe"),
                               word(program), sizeof program);
    Line line(path_);
    line.json("{\"event\": \"process\", \"version\": 1, \"method\": \"trap flag\", \"host\": ")
        .text(system.nodename);
    line.json(", \"pid\": ")
        .number(static_cast<std::uint64_t>(process_))
        .json(", \"rank\": ")
        .text(settings().rank);
    line.json(", \"program\": ").text(program, length > 0 ? static_cast<std::size_t>(length) : 0);
    line.json(", \"function\": ").text(settings().function);
    line.json(", \"skip\": ")
        .number(settings().skip)
        .json(", \"calls\": ")
        .number(settings().calls)
        .json("}");
}

void Record::found(const char* library) {
    Line(path_).json("{\"event\": \"found\", \"library\": ").text(library).json("}");
}

void Record::uncountable(const char* library, const char* reason) {
    Line line(path_);
    line.json("{\"event\": \"uncountable\", \"library\": ").text(library);
    line.json(", \"reason\": ").text(reason).json("}");
}

void Record::tell_mappings() {
    mappings_told_ = true;
    const int file = open_file("/proc/self/maps", O_RDONLY);
    Line line(path_);
    line.json("{\"event\": \"mappings\", \"lines\": [");
    ExecutableLines lines(line);
    char chunk[1024];
    for (long got = 0; file >= 0 && (got = read_file(file, chunk, sizeof chunk)) > 0;)
        for (long i = 0; i < got; ++i) lines.take(chunk[i]);
    line.json("]}");
    if (file >= 0) close_file(file);
}

void Record::call(std::uint64_t number, const Histogram& counted) {
    if (!mappings_told_) tell_mappings();
    Line line(path_);
    line.json("{\"event\": \"call\", \"call\": ").number(number);
    line.json(", \"thread\": ").number(static_cast<std::uint64_t>(thread_id()));
    line.json(", \"stepped\": ").number(counted.stepped()).json(", \"retired\": ").number(counted.retired());
    line.json(", \"reason\": null, \"at\": [");
    for (std::size_t i = 0; i < counted.size(); ++i) {
        line.json(i == 0 ? "[" : ", [").number(counted[i].address).json(", ").number(counted[i].stepped);
        line.json(", ").number(counted[i].retired).json("]");
    }
    line.json("]}");
}

void Record::call_without_count(std::uint64_t number, const char* reason) {
    Line line(path_);
    line.json("{\"event\": \"call\", \"call\": ").number(number);
    line.json(", \"thread\": ").number(static_cast<std::uint64_t>(thread_id()));
    line.json(", \"stepped\": null, \"retired\": null, \"reason\": ").text(reason).json(", \"at\": []}");
}

void Record::end(std::uint64_t calls) {
    Line(path_).json("{\"event\": \"end\", \"calls\": ").number(calls).json("}");
}

}  // namespace slowpath::counting::preload
