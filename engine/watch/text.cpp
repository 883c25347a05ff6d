// SPDX-License-Identifier: Apache-2.0
/// Lines of the section text.
#include <string.h>

#include "watch/file.hpp"
#include "watch/spin.hpp"

namespace slowpath::watch {
namespace {
constinit SpinLock text_lock{};
}

void write_text(const char* key, const char* value) {
    Section<layout::Text>& text = sections().text;
    const std::size_t key_bytes = strlen(key), value_bytes = strcspn(value, "\n");
    const std::size_t bytes = key_bytes + value_bytes + 2;
    const SpinGuard guard(text_lock);
    if (bytes > text.capacity() - text.used()) return text.lose(static_cast<std::uint32_t>(bytes));
    char* line = &text[text.used()].byte;
    memcpy(line, key, key_bytes);
    line[key_bytes] = '\t';
    memcpy(line + key_bytes + 1, value, value_bytes);
    line[bytes - 1] = '\n';
    text.publish(static_cast<std::uint32_t>(bytes));
}

}  // namespace slowpath::watch
