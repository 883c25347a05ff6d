// SPDX-License-Identifier: Apache-2.0
#include "plant/law.hpp"

#include <cstdlib>
#include <cstring>

namespace slowpath::plant {
namespace {

struct Named {
    const char* name;
    Kind kind;
    bool costs;    // needs cost_s
    bool numbers;  // needs n
};

constexpr Named kinds[] = {
    {"pages", Kind::pages, true, false},
    {"allocation", Kind::allocation, true, false},
    {"message", Kind::message, true, false},
    {"constant", Kind::constant, true, false},
    {"gate", Kind::gate, true, true},
    {"live", Kind::live, true, true},
    {"threshold", Kind::threshold, true, true},
    {"blocks", Kind::blocks, true, false},
    {"queue", Kind::queue, true, false},
    {"rank", Kind::rank, true, true},
    {"small_pages", Kind::small_pages, false, false},
    {"cpu", Kind::cpu, false, true},
};

constexpr std::size_t longest_word = 64;

bool starts(const char* word, const char* with, const char*& rest) {
    const std::size_t length = std::strlen(with);
    if (std::strncmp(word, with, length) != 0) return false;
    rest = word + length;
    return true;
}

bool read_number(const char* text, double& value) {
    char* end = nullptr;
    value = std::strtod(text, &end);
    return end != text && *end == '\0' && value >= 0;
}

/// One word after the first. `given` notes what was there: 1 for the cost, 2 for n.
const char* option(const char* word, Law& law, unsigned& given) {
    const char* rest = nullptr;
    double value = 0;
    if (starts(word, "cost_s=", rest)) {
        if (!read_number(rest, value)) return "cost_s is no number of seconds";
        law.cost_s = value;
        given |= 1;
    } else if (starts(word, "n=", rest)) {
        if (!read_number(rest, value)) return "n is no whole number";
        law.n = static_cast<std::int64_t>(value);
        given |= 2;
    } else if (starts(word, "phase=", rest)) {
        law.every = std::strcmp(rest, "every") == 0;
        if (!law.every && std::strcmp(rest, "first") != 0) return "phase is neither first nor every";
    } else if (starts(word, "side=", rest)) {
        if (std::strcmp(rest, "send") == 0)
            law.side = Side::send;
        else if (std::strcmp(rest, "receive") == 0)
            law.side = Side::receive;
        else if (std::strcmp(rest, "both") == 0)
            law.side = Side::both;
        else
            return "side is none of send, receive and both";
    } else {
        return "a word is none of cost_s=, n=, phase= and side=";
    }
    return nullptr;
}

/// The next word into `word`; the text after it, or null when there was none or it was too long.
const char* next_word(const char* text, char (&word)[longest_word]) {
    while (*text == ' ') ++text;
    std::size_t length = 0;
    while (text[length] != '\0' && text[length] != ' ') ++length;
    if (length == 0 || length >= longest_word) return nullptr;
    std::memcpy(word, text, length);
    word[length] = '\0';
    return text + length;
}

}  // namespace

const char* parse(const char* text, Law& law) {
    char word[longest_word];
    const char* rest = next_word(text, word);
    if (rest == nullptr) return "it is empty";
    const Named* found = nullptr;
    for (const Named& one : kinds)
        if (std::strcmp(word, one.name) == 0) found = &one;
    if (found == nullptr) return "its first word is no law";
    law = Law{};
    law.kind = found->kind;
    unsigned given = 0;
    while ((rest = next_word(rest, word)) != nullptr)
        if (const char* wrong = option(word, law, given)) return wrong;
    if (found->costs && (given & 1) == 0) return "cost_s= is missing";
    if (found->numbers && (given & 2) == 0) return "n= is missing";
    return nullptr;
}

std::uint64_t page_of(std::uint64_t bytes) {
    constexpr std::uint64_t pages[] = {2048 * 1024, 64 * 1024};
    constexpr std::uint64_t host_page = 4096;
    const std::uint64_t whole = (bytes + host_page - 1) / host_page * host_page;
    for (const std::uint64_t page : pages)
        if (whole % page == 0) return page;
    return host_page;
}

}  // namespace slowpath::plant
