// SPDX-License-Identifier: Apache-2.0
/// One line of JSON at a time; RFC 8259, ASCII only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace slowpath {

/// A quoted JSON string; bytes from 0x80 on become \u00XX, so that no input makes an invalid line.
std::string json_text(std::string_view text);

/// The shortest digits that read back as the same double; null when not finite.
std::string json_number(double value);

/// Builds one object, fields in the order of the calls.
class JsonObject {
  public:
    JsonObject& text(std::string_view key, std::string_view value);
    JsonObject& text_or_null(std::string_view key, const std::optional<std::string>& value);
    JsonObject& integer(std::string_view key, std::int64_t value);
    JsonObject& unsigned_integer(std::string_view key, std::uint64_t value);
    JsonObject& number(std::string_view key, double value);
    JsonObject& boolean(std::string_view key, bool value);
    JsonObject& null(std::string_view key);
    /// @param json Valid JSON already.
    JsonObject& raw(std::string_view key, std::string_view json);

    std::string str() const { return "{" + fields_ + "}"; }
    /// The fields without the braces, to be put in another object.
    const std::string& fields() const { return fields_; }

  private:
    std::string fields_;
};

/// @param items Valid JSON each.
std::string json_array(std::span<const std::string> items);

}  // namespace slowpath
