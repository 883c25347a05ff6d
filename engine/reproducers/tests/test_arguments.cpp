// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.hpp"
#include "reproducers/arguments.hpp"
#include "tests/text.hpp"

namespace slowpath::reproducers {
namespace {

using memory::Kind;
using test::thrown;

std::vector<std::string_view> words(std::string_view line) {
    std::vector<std::string_view> found;
    while (!line.empty()) {
        const std::size_t blank = line.find(' ');
        found.push_back(line.substr(0, blank));
        line.remove_prefix(blank == std::string_view::npos ? line.size() : blank + 1);
    }
    return found;
}

std::string refused(std::string_view line) {
    return thrown<UsageError>([&] { parse_overalloc(words(line)); });
}

std::string pinned_refused(std::string_view line) {
    return thrown<UsageError>([&] { parse_pinned_host(words(line)); });
}

TEST(ReproducerArguments, Accepted) {
    const auto given = parse_overalloc(words("5 3 1024 1073741824 65536"));
    EXPECT_TRUE(given.num_iterations == 5 && given.num_sub_iterations == 3);
    EXPECT_TRUE(given.p2p_bytes == 1024 && given.buffer_bytes == 1073741824 &&
                given.overalloc_bytes == 65536);
    EXPECT_EQ(given.memory, Kind::device);
    EXPECT_EQ(parse_overalloc(words("1 1 9 8 1")).p2p_bytes, 9);
    EXPECT_EQ(parse_overalloc(words("1 1 8 8 0 --memory host")).memory, Kind::host);
    EXPECT_EQ(parse_overalloc(words("--memory=managed 1 1 8 8 0")).memory, Kind::managed);
    EXPECT_EQ(parse_overalloc(words("1 1 0 0 9223372036854775807")).overalloc_bytes, 9223372036854775807);
    const auto pinned = parse_pinned_host(words("2 5 pinned_host 134217728"));
    EXPECT_TRUE(pinned.num_iterations == 2 && pinned.num_sub_iterations == 5);
    EXPECT_TRUE(pinned.memory == Kind::pinned_host && pinned.p2p_bytes == 134217728);
}

TEST(ReproducerArguments, Refusals) {
    EXPECT_IN("5 arguments are needed, 0 were given", refused(""));
    EXPECT_IN("5 arguments are needed, 4 were given", refused("1 1 8 8"));
    EXPECT_IN("5 arguments are needed, 6 were given", refused("1 1 8 8 8 8"));
    EXPECT_IN("num_iterations is '0': it must be at least 1", refused("0 1 8 8 0"));
    EXPECT_IN("num_sub_iterations is '-1'", refused("1 -1 8 8 0"));
    EXPECT_IN("p2p_size is 'x': it must be a whole number", refused("1 1 x 8 0"));
    EXPECT_IN("p2p_size is '1KiB'", refused("1 1 1KiB 2048 0"));
    EXPECT_IN("buffer_size is '+8'", refused("1 1 8 +8 0"));
    EXPECT_IN("overalloc_size is '9223372036854775808': it must be below 2^63",
              refused("1 1 8 8 9223372036854775808"));
    EXPECT_IN("buffer_size + overalloc_size must be below 2^63", refused("1 1 8 8 9223372036854775807"));
    EXPECT_IN("p2p_size 10 is larger than buffer_size + overalloc_size, 9", refused("1 1 10 8 1"));
    EXPECT_IN("--memory is 'mpi': it must be one of device, managed, pinned_host, host",
              refused("1 1 8 8 0 --memory mpi"));
    EXPECT_IN("--memory needs a value", refused("1 1 8 8 0 --memory"));
    EXPECT_IN("--memory is given twice", refused("1 1 8 8 0 --memory host --memory host"));
    EXPECT_IN("no option '--memorys=host'", refused("1 1 8 8 0 --memorys=host"));
    EXPECT_IN("4 arguments are needed, 3 were given", pinned_refused("1 1 host"));
    EXPECT_IN("mem_type is 'managed': it must be one of host, pinned_host, device",
              pinned_refused("1 1 managed 8"));
    EXPECT_IN("p2p_size is '-8'", pinned_refused("1 1 host -8"));
}

}  // namespace
}  // namespace slowpath::reproducers
