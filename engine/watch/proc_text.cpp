// SPDX-License-Identifier: Apache-2.0
#include "watch/proc_text.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

namespace slowpath::watch {
namespace {

/// Lines of a file, without stdio and its memory. A longer line is cut.
class Lines {
  public:
    explicit Lines(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {}
    ~Lines() {
        if (file_ >= 0) close(file_);
    }
    Lines(const Lines&) = delete;
    Lines& operator=(const Lines&) = delete;
    bool opened() const { return file_ >= 0; }

    /// nullptr: the end.
    const char* next() {
        std::size_t length = 0;
        for (;;) {
            if (at_ == end_ && !fill()) break;
            const char here = buffer_[at_++];
            if (here == '\n') break;
            if (length + 1 < sizeof line_) line_[length++] = here;
        }
        line_[length] = '\0';
        return length == 0 ? nullptr : line_;
    }

  private:
    bool fill() {
        const ssize_t got = read(file_, buffer_, sizeof buffer_);
        at_ = 0;
        end_ = got > 0 ? static_cast<std::size_t>(got) : 0;
        return end_ != 0;
    }

    int file_;
    std::size_t at_ = 0, end_ = 0;
    char buffer_[4096];
    char line_[512];
};

/// Hexadecimal digits; none: `text` does not move.
Address read_hex(const char*& text) {
    Address number = 0;
    for (;; ++text) {
        const char c = *text;
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
        if (digit < 0) return number;
        number = number * 16 + static_cast<Address>(digit);
    }
}

/// A line such as `55d0-55e0 rw-p 00000000 00:00 0   [heap]`.  @return false: another kind of line.
bool read_map(const char* line, KernelMap& map) {
    const char* text = line;
    map.begin = read_hex(text);
    if (text == line || *text != '-') return false;
    map.end = read_hex(++text);
    if (*text != ' ' || std::strlen(text) < 6) return false;
    map.is_shared = text[4] == 's';
    // Behind the permissions: offset, device, inode; the name is padded to a column.
    for (int fields = 0; fields < 4; ++fields) {
        while (*text == ' ') ++text;
        while (*text != ' ' && *text != '\0') ++text;
    }
    while (*text == ' ') ++text;
    std::strncpy(map.name, text, sizeof map.name - 1);
    map.name[sizeof map.name - 1] = '\0';
    return true;
}

/// The bytes of a line `KEY:   123 kB`; 0: it is another line.
std::uint64_t kibibytes(const char* line, const char* key) {
    const std::size_t length = std::strlen(key);
    if (std::strncmp(line, key, length) != 0 || line[length] != ':') return 0;
    std::uint64_t number = 0;
    for (const char* text = line + length + 1; *text != '\0'; ++text)
        if (*text >= '0' && *text <= '9') number = number * 10 + static_cast<std::uint64_t>(*text - '0');
    return number * 1024;
}

}  // namespace

bool find_in_maps(Address address, KernelMap& map) {
    Lines lines("/proc/self/maps");
    while (const char* const line = lines.opened() ? lines.next() : nullptr)
        if (read_map(line, map) && address >= map.begin && address < map.end) return true;
    map = {};
    return lines.opened();
}

bool find_in_smaps(Address address, KernelPages& pages) {
    Lines lines("/proc/self/smaps");
    KernelMap map;
    bool found = false;
    while (const char* const line = lines.opened() ? lines.next() : nullptr) {
        if (read_map(line, map)) {
            if (found) break;
            found = address >= map.begin && address < map.end;
        } else if (found) {
            pages.present_bytes += kibibytes(line, "Rss") + kibibytes(line, "Shared_Hugetlb") +
                                   kibibytes(line, "Private_Hugetlb");
            pages.huge_bytes += kibibytes(line, "AnonHugePages") + kibibytes(line, "ShmemPmdMapped") +
                                kibibytes(line, "FilePmdMapped");
            pages.page_bytes += kibibytes(line, "KernelPageSize");
        }
    }
    return found;
}

}  // namespace slowpath::watch
