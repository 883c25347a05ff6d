// SPDX-License-Identifier: Apache-2.0
/// slowpath-count-names: which function lies at an offset of a file.
#include <charconv>
#include <iostream>
#include <map>
#include <string>

#include "core/json.hpp"
#include "counting/names.hpp"

namespace {

constexpr const char* usage =
    "usage: slowpath-count-names < LINES\n"
    "  Each line: offset in a file (decimal), a blank, the file's path.  Prints for each a line of JSON,\n"
    "  {\"library\": ..., \"function\": ...}; what is not known is \"?\".\n";

}  // namespace

int main(int argc, char**) {
    using slowpath::counting::ElfFile;
    if (argc > 1) {
        std::cerr << usage;
        return 2;
    }
    std::map<std::string, ElfFile> files;
    for (std::string line; std::getline(std::cin, line);) {
        std::uint64_t offset = 0;
        const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), offset);
        if (error != std::errc{} || *end != ' ') {
            std::cerr << "slowpath-count-names: error: not an offset and a path: " << line << "\n" << usage;
            return 2;
        }
        const std::string path(end + 1);
        const auto file = files.try_emplace(path, path).first;
        const auto place = slowpath::counting::place_in(file->second, path, offset);
        std::cout
            << slowpath::JsonObject().text("library", place.library).text("function", place.function).str()
            << "\n";
    }
    std::cout << std::flush;
    return std::cout ? 0 : 4;
}
