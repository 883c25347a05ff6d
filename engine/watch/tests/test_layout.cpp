// SPDX-License-Identifier: Apache-2.0
/// Rows hold what is written into them.
#include <gtest/gtest.h>

#include <string>

#include "watch/call.hpp"
#include "watch/layout.hpp"

using namespace slowpath::watch;

TEST(Layout, NamesOfCallsFit) {
    for (const Shape& shape : shapes)
        EXPECT_LT(std::string(shape.name).size(), sizeof(layout::CallRow::name));
}
