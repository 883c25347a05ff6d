// SPDX-License-Identifier: Apache-2.0
#include "counting/debug_files.hpp"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

namespace slowpath::counting {
namespace {

using Bytes = std::span<const std::uint8_t>;

std::string variable(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Of a note: after three sizes and "GNU", the number of this build.
std::string hexadecimal_build(Bytes note) {
    constexpr std::size_t head_bytes = 16;
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = head_bytes; i < note.size(); ++i)
        text += {digits[note[i] >> 4], digits[note[i] & 15]};
    return text;
}

/// As debuginfod_find_debuginfo(3) has it.
std::string debuginfod_cache() {
    if (const std::string given = variable("DEBUGINFOD_CACHE_PATH"); !given.empty()) return given;
    const std::string cache = variable("XDG_CACHE_HOME");
    return (cache.empty() ? variable("HOME") + "/.cache" : cache) + "/debuginfod_client";
}

/// The checksum of .gnu_debuglink: CRC-32 of ISO 3309, as zlib's.
std::uint32_t checksum(Bytes bytes) {
    static const auto table = [] {
        constexpr std::uint32_t polynomial = 0xedb88320;
        std::array<std::uint32_t, 256> made{};
        for (std::uint32_t i = 0; i < made.size(); ++i) {
            made[i] = i;
            for (int bit = 0; bit < 8; ++bit)
                made[i] = (made[i] >> 1) ^ ((made[i] & 1) != 0 ? polynomial : 0);
        }
        return made;
    }();
    std::uint32_t sum = 0xffffffff;
    for (const std::uint8_t byte : bytes) sum = table[(sum ^ byte) & 0xff] ^ (sum >> 8);
    return ~sum;
}

}  // namespace

std::vector<std::uint8_t> file_content(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    const auto bytes = static_cast<std::streamoff>(file.tellg());
    if (bytes <= 0) return {};
    std::vector<std::uint8_t> image(static_cast<std::size_t>(bytes));
    file.seekg(0);
    if (!file.read(reinterpret_cast<char*>(image.data()), bytes)) return {};
    return image;
}

std::vector<std::uint8_t> debug_file_of_build(Bytes build_id) {
    const std::string build = hexadecimal_build(build_id);
    if (build.size() < 4) return {};
    std::vector<std::uint8_t> image =
        file_content("/usr/lib/debug/.build-id/" + build.substr(0, 2) + "/" + build.substr(2) + ".debug");
    return image.empty() ? file_content(debuginfod_cache() + "/" + build + "/debuginfo") : image;
}

std::vector<std::uint8_t> debug_file_of_link(const std::string& path, Bytes link) {
    std::uint32_t expected = 0;
    if (link.size() <= sizeof expected || link[0] == 0) return {};
    const auto* const text = reinterpret_cast<const char*>(link.data());
    const std::string name(text, strnlen(text, link.size() - sizeof expected));
    std::memcpy(&expected, link.data() + link.size() - sizeof expected, sizeof expected);
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    for (const std::string& candidate :
         {folder + name, folder + ".debug/" + name, "/usr/lib/debug" + folder + name}) {
        std::vector<std::uint8_t> image =
            candidate == path ? std::vector<std::uint8_t>{} : file_content(candidate);
        if (!image.empty() && checksum(image) == expected) return image;
    }
    return {};
}

}  // namespace slowpath::counting
