// SPDX-License-Identifier: Apache-2.0
// The smallest test harness that does: EXPECT counts failures, and main returns whether there were any.
#pragma once

#include <iostream>
#include <string>

namespace slowpath::memory::test {

inline int failures = 0;

inline void expect(bool holds, const char* text, const char* file, int line, const std::string& more = {}) {
    if (holds) return;
    ++failures;
    std::cerr << file << ':' << line << ": expected " << text << (more.empty() ? "" : "; got " + more)
              << '\n';
}

/// The error text that `action` throws as an Exception, or "nothing thrown".
template <typename Exception, typename Action>
std::string thrown(Action action) {
    try {
        action();
    } catch (const Exception& error) {
        return error.what();
    }
    return "nothing thrown";
}

}  // namespace slowpath::memory::test

#define EXPECT(condition) ::slowpath::memory::test::expect((condition), #condition, __FILE__, __LINE__)
#define EXPECT_TEXT(value, wanted) \
    ::slowpath::memory::test::expect((value) == (wanted), #value " is " #wanted, __FILE__, __LINE__, value)
#define EXPECT_IN(part, whole)                                                                           \
    ::slowpath::memory::test::expect((whole).find(part) != std::string::npos, "\"" part "\" in " #whole, \
                                     __FILE__, __LINE__, whole)
