// SPDX-License-Identifier: Apache-2.0
#include "core/bytes.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <span>

#include "core/error.hpp"

namespace slowpath {
namespace {

struct Suffix {
    std::string_view text;
    std::int64_t factor;
};
constexpr std::array<Suffix, 5> suffixes{{{"", 1},
                                          {"KiB", std::int64_t{1} << 10},
                                          {"MiB", std::int64_t{1} << 20},
                                          {"GiB", std::int64_t{1} << 30},
                                          {"TiB", std::int64_t{1} << 40}}};

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw UsageError("'" + std::string(text) + "': " + std::string(why));
}

std::string lower(std::string_view text) {
    std::string made;
    for (const char letter : text)
        made += (letter >= 'A' && letter <= 'Z') ? static_cast<char>(letter + 32) : letter;
    return made;
}

/// The spelling meant by 1GB, 1G, 1gib, 1e9, ...
std::string spelling_for(std::string_view digits, std::string_view suffix) {
    const std::string small = lower(suffix);
    const std::string number(digits);
    for (const Suffix& known : std::span(suffixes).last<4>()) {
        const std::string name = lower(known.text);
        if (small == name || small == name.substr(0, 1)) return "write " + number + std::string(known.text);
        if (small == name.substr(0, 1) + "b")
            return "write " + number + std::string(known.text) +
                   " (powers of 1024), or the number of bytes in digits";
    }
    if (small == "b" || small == "bytes" || small == "byte") return "write " + number;
    if (small.size() > 1 && small[0] == 'e') {
        double value = 0;
        const std::string whole = number + small;
        const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
        if (error == std::errc{} && end == whole.data() + whole.size() && value < 9.2e18)
            return "write " + std::to_string(std::llround(value));
    }
    if (!small.empty() && small[0] == '.') return "write a whole number, for example 1536MiB for 1.5GiB";
    return "write digits, then nothing or KiB, MiB, GiB, TiB";
}

constexpr std::string_view too_large = "too large; the largest value is 9223372036854775807 (2^63-1)";

/// One term of a sum.
std::int64_t parse_term(std::string_view whole, std::string_view term) {
    std::size_t length = 0;
    while (length < term.size() && term[length] >= '0' && term[length] <= '9') ++length;
    const std::string_view digits = term.substr(0, length), suffix = term.substr(length);
    if (digits.empty()) refuse(whole, "not a number of bytes; write for example 4096, 64KiB or 1GiB+1");
    std::int64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{})
        refuse(whole, too_large);
    for (const Suffix& known : suffixes) {
        if (suffix != known.text) continue;
        std::int64_t bytes = 0;
        if (__builtin_mul_overflow(number, known.factor, &bytes)) refuse(whole, too_large);
        return bytes;
    }
    refuse(whole, spelling_for(digits, suffix));
}

}  // namespace

std::int64_t parse_bytes(std::string_view text) {
    if (text.empty()) refuse(text, "empty value; write a number of bytes, for example 8 or 64KiB");
    if (text[0] == '-') refuse(text, "a number of bytes is 0 or more; the smallest value is 0");
    std::int64_t sum = 0;
    std::size_t begin = 0;
    bool minus = false;
    while (true) {
        const std::size_t end = std::min(text.find_first_of("+-", begin), text.size());
        const std::int64_t term = parse_term(text, text.substr(begin, end - begin));
        const bool overflow =
            minus ? __builtin_sub_overflow(sum, term, &sum) : __builtin_add_overflow(sum, term, &sum);
        if (overflow) refuse(text, too_large);
        if (end == text.size()) break;
        minus = text[end] == '-';
        begin = end + 1;
    }
    if (sum < 0) refuse(text, "below 0; a number of bytes is 0 or more");
    return sum;
}

std::int64_t parse_count(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || text[0] == '-' || error == std::errc::invalid_argument)
        refuse(text, "not a count; write a whole number, for example 8");
    if (error == std::errc::result_out_of_range) refuse(text, too_large);
    if (end != text.data() + text.size())
        refuse(text, "not a count; write a whole number in digits, for example 1000");
    return number;
}

double parse_seconds(std::string_view text) {
    double number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (text.empty() || error != std::errc{} || end != text.data() + text.size() || !std::isfinite(number))
        refuse(text, "not a number of seconds; write for example 0.1");
    if (number < 0) refuse(text, "a time is 0 s or more");
    return number;
}

}  // namespace slowpath
