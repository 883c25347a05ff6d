// SPDX-License-Identifier: Apache-2.0
#include "pad/settings.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace slowpath::pad {
namespace {

/// Digits, then nothing or KiB, MiB or GiB.  @return false: something else, zero, or over 63 bits.
bool parse_bytes(const char* text, std::size_t& bytes) {
    if (*text < '0' || *text > '9') return false;
    char* end = nullptr;
    errno = 0;
    const unsigned long long number = std::strtoull(text, &end, 10);
    unsigned shift = 0;
    if (std::strcmp(end, "KiB") == 0)
        shift = 10;
    else if (std::strcmp(end, "MiB") == 0)
        shift = 20;
    else if (std::strcmp(end, "GiB") == 0)
        shift = 30;
    else if (*end != '\0')
        return false;
    if (errno != 0 || number == 0 || number > (~0ULL >> 1 >> shift)) return false;
    bytes = static_cast<std::size_t>(number << shift);
    return true;
}

/// A wrong value must not stop a program that has nothing to do with us: say it and go on.
void complain(const char* variable, const char* text, const char* wanted) {
    std::fprintf(stderr, "slowpath-pad: warning: %s is '%s', not %s; the default is used\n", variable, text,
                 wanted);
}

void read_bytes(const char* variable, std::size_t& bytes) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0' || parse_bytes(text, bytes)) return;
    complain(variable, text, "a number of bytes such as 2097152 or 2MiB");
}

void read_flag(const char* variable, bool& flag) {
    const char* const text = std::getenv(variable);
    if (text == nullptr || *text == '\0') return;
    if (std::strcmp(text, "1") == 0 || std::strcmp(text, "0") == 0)
        flag = *text == '1';
    else
        complain(variable, text, "0 or 1");
}

void read_report() {
    const char* const text = std::getenv("SLOWPATH_PAD_REPORT");
    if (text == nullptr || *text == '\0') return;
    if (std::strlen(text) >= sizeof settings.report_path) {
        complain("SLOWPATH_PAD_REPORT", text, "a path of less than 4096 bytes");
        return;
    }
    settings.report = true;
    if (std::strcmp(text, "stderr") != 0) std::strcpy(settings.report_path, text);
}

[[gnu::constructor]] void read_settings() {
    const int saved = errno;
    read_bytes("SLOWPATH_PAD_MIN_BYTES", settings.min_bytes);
    read_bytes("SLOWPATH_PAD_GRANULE_BYTES", settings.granule_bytes);
    read_bytes("SLOWPATH_PAD_HOST_MIN_BYTES", settings.host_min_bytes);
    read_report();
    read_flag("SLOWPATH_PAD_HOST", settings.host);
    errno = saved;
}

}  // namespace

constinit Settings settings;

std::size_t padded(std::size_t bytes, std::size_t min_bytes) {
    const std::size_t rest = bytes % settings.granule_bytes;
    std::size_t sum = 0;
    if (bytes < min_bytes || rest == 0 || __builtin_add_overflow(bytes, settings.granule_bytes - rest, &sum))
        return bytes;
    return sum;
}

}  // namespace slowpath::pad
