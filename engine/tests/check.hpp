// SPDX-License-Identifier: Apache-2.0
/// A test is a function that calls CHECK; a file lists its own.  One line for each failure, exit code 1.
#pragma once

#include <cstdio>
#include <stdexcept>
#include <string>

namespace slowpath::test {

inline int failures = 0;

inline void report(bool good, const char* what, const char* file, int line) {
    if (good) return;
    ++failures;
    std::fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
}

/// The text of the exception that `body` throws; "" if it throws none of this type.
template <class Exception, class Body>
std::string thrown(Body&& body) {
    try {
        body();
    } catch (const Exception& error) {
        return error.what();
    }
    return "";
}

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

/// @return What main returns.
inline int result() {
    return failures == 0 ? 0 : 1;
}

}  // namespace slowpath::test

#define CHECK(condition) slowpath::test::report(static_cast<bool>(condition), #condition, __FILE__, __LINE__)
