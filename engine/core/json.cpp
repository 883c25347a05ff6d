// SPDX-License-Identifier: Apache-2.0
#include "core/json.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace slowpath {

std::string json_text(std::string_view text) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string made = "\"";
    for (const char letter : text) {
        const auto code = static_cast<unsigned char>(letter);
        if (letter == '"' || letter == '\\') {
            made += '\\';
            made += letter;
        } else if (code < 0x20 || code > 0x7e) {
            made += "\\u00";
            made += digits[code >> 4];
            made += digits[code & 15];
        } else {
            made += letter;
        }
    }
    return made + "\"";
}

std::string json_number(double value) {
    if (!std::isfinite(value)) return "null";
    std::array<char, 40> digits;
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

JsonObject& JsonObject::raw(std::string_view key, std::string_view json) {
    if (!fields_.empty()) fields_ += ", ";
    fields_ += json_text(key) + ": ";
    fields_ += json;
    return *this;
}

JsonObject& JsonObject::text(std::string_view key, std::string_view value) {
    return raw(key, json_text(value));
}

JsonObject& JsonObject::text_or_null(std::string_view key, const std::optional<std::string>& value) {
    return value ? text(key, *value) : null(key);
}

JsonObject& JsonObject::integer(std::string_view key, std::int64_t value) {
    return raw(key, std::to_string(value));
}

JsonObject& JsonObject::unsigned_integer(std::string_view key, std::uint64_t value) {
    return raw(key, std::to_string(value));
}

JsonObject& JsonObject::number(std::string_view key, double value) {
    return raw(key, json_number(value));
}

JsonObject& JsonObject::boolean(std::string_view key, bool value) {
    return raw(key, value ? "true" : "false");
}

JsonObject& JsonObject::null(std::string_view key) {
    return raw(key, "null");
}

std::string json_array(std::span<const std::string> items) {
    std::string made = "[";
    for (const std::string& item : items) {
        if (made.size() > 1) made += ", ";
        made += item;
    }
    return made + "]";
}

}  // namespace slowpath
