// SPDX-License-Identifier: Apache-2.0
#include "fuzz/mutation.hpp"

#include <array>

namespace slowpath::fuzz {
namespace {

constexpr std::array<std::string_view, 24> telling{"0",
                                                   "-1",
                                                   "1",
                                                   "4294967295",
                                                   "4294967296",
                                                   "9223372036854775807",
                                                   "9223372036854775808",
                                                   "18446744073709551616",
                                                   "1e9",
                                                   "nan",
                                                   "inf",
                                                   "1GiB+1",
                                                   "8..1KiB*2",
                                                   "0..99999999+1",
                                                   "1:2",
                                                   "=",
                                                   "cell",
                                                   "\n",
                                                   " ",
                                                   "\t",
                                                   ",",
                                                   "SPB1",
                                                   "seed 1\n",
                                                   "launch 4294967295\n"};

bool is_digit(char letter) {
    return letter >= '0' && letter <= '9';
}

/// The run of digits around `at`, or nothing there.
std::pair<std::size_t, std::size_t> number_at(const std::string& text, std::size_t at) {
    std::size_t begin = at, end = at;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    return {begin, end - begin};
}

void change(std::string& text, const std::vector<std::string>& seeds, Random& random) {
    const std::size_t at = below(random, text.size()), length = 1 + below(random, 40);
    switch (below(random, 8)) {
        case 0:
            if (!text.empty())
                text[at] = static_cast<char>(text[at] ^ static_cast<char>(1 << below(random, 8)));
            break;
        case 1:
            if (!text.empty()) text[at] = static_cast<char>(below(random, 256));
            break;
        case 2:
            text.erase(at, length);
            break;
        case 3:
            text.insert(at, text.substr(at, length));
            break;
        case 4:
            text.resize(at);
            break;
        case 5: {
            const std::string& other = seeds[below(random, seeds.size())];
            text.insert(at, other.substr(below(random, other.size()), below(random, 200)));
            break;
        }
        case 6: {
            const auto [begin, digits] = number_at(text, at);
            text.replace(begin, digits, telling[below(random, telling.size())]);
            break;
        }
        default:
            text.insert(at, telling[below(random, telling.size())]);
    }
}

}  // namespace

std::size_t below(Random& random, std::size_t below) {
    return below == 0 ? 0 : static_cast<std::size_t>(random() % below);
}

std::string mutated(const std::vector<std::string>& seeds, Random& random) {
    std::string text = seeds[below(random, seeds.size())];
    for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) change(text, seeds, random);
    return text;
}

}  // namespace slowpath::fuzz
