// SPDX-License-Identifier: Apache-2.0
/// What tests ask of texts: of an error, of a line.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace slowpath::test {

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

}  // namespace slowpath::test

/// Fails with both texts.
#define EXPECT_IN(part, whole) EXPECT_PRED2(slowpath::test::contains, whole, part)
