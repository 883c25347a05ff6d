// SPDX-License-Identifier: Apache-2.0
// What users write: values, lists, ranges, command lines, plans; and the error when it can't be meant.
#include <gtest/gtest.h>

#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/parameters.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using test::contains;

namespace {

const std::vector<Parameter> table{
    {
        .name = "length",
        .type = ParameterType::bytes,
        .role = ParameterRole::covariate,
        .unit = "bytes",
        .default_value = "8",
        .minimum = "0",
        .maximum = "1099511627776",
        .choices = {"all"},
        .sided = true,
        .meaning = "a length",
    },
    {
        .name = "count",
        .type = ParameterType::count,
        .role = ParameterRole::covariate,
        .default_value = "3",
        .minimum = "1",
        .maximum = "1000",
        .meaning = "a count",
    },
    {
        .name = "limit_s",
        .type = ParameterType::seconds,
        .role = ParameterRole::covariate,
        .unit = "s",
        .default_value = "0.5",
        .minimum = "0",
        .maximum = "10",
        .meaning = "a time",
    },
    {
        .name = "mode",
        .type = ParameterType::choice,
        .role = ParameterRole::setting,
        .default_value = "fast",
        .choices = {"fast", "slow"},
        .sided = true,
        .meaning = "a choice",
    },
    {
        .name = "check",
        .type = ParameterType::flag,
        .role = ParameterRole::setting,
        .default_value = "on",
        .meaning = "a flag",
    },
};

std::string refused_bytes(std::string_view text) {
    return test::thrown<UsageError>([&] { static_cast<void>(parse_bytes(text)); });
}

std::string refused(const KeyValues& given) {
    return test::thrown<UsageError>([&] { Assignment assignment(table, given); });
}

std::string refused_line(std::vector<std::string_view> words) {
    return test::thrown<UsageError>([&] { static_cast<void>(parse_arguments(words)); });
}

std::string refused_plan(std::string_view text) {
    return test::thrown<UsageError>([&] { static_cast<void>(parse_plan(text)); });
}

TEST(Words, BytesAreRead) {
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("4096"), 4096);
    EXPECT_EQ(parse_bytes("1KiB"), 1024);
    EXPECT_EQ(parse_bytes("1GiB+1"), 1073741825);
    EXPECT_EQ(parse_bytes("2MiB-64"), 2097088);
    EXPECT_EQ(parse_bytes("1KiB+1KiB-3"), 2045);
    EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807);
}

TEST(Words, BytesAreRefusedWithTheRightSpelling) {
    EXPECT_TRUE(contains(refused_bytes("1GB"), "1GiB"));
    EXPECT_TRUE(contains(refused_bytes("1kib"), "1KiB"));
    EXPECT_TRUE(contains(refused_bytes("3G"), "3GiB"));
    EXPECT_TRUE(contains(refused_bytes("1e9"), "1000000000"));
    EXPECT_TRUE(contains(refused_bytes("8B"), "write 8"));
    EXPECT_TRUE(contains(refused_bytes("1.5GiB"), "whole number"));
    EXPECT_TRUE(contains(refused_bytes("-1"), "0 or more"));
    EXPECT_TRUE(contains(refused_bytes("1-2"), "0 or more"));
    EXPECT_TRUE(contains(refused_bytes(""), "empty"));
    EXPECT_TRUE(contains(refused_bytes("9223372036854775808"), "9223372036854775807"));
    EXPECT_TRUE(contains(refused_bytes("8388608TiB"), "9223372036854775807"));
    EXPECT_TRUE(contains(refused_bytes("9223372036854775807+1"), "9223372036854775807"));
    for (const std::string_view text : {"+1", "1+", "x", "1 ", " 1", "1KiB*2", "0x10", "1GiB++1"})
        EXPECT_FALSE(refused_bytes(text).empty());
}

TEST(Words, AssignmentsHaveDefaultsSidesAndLimits) {
    const Assignment assignment(table, KeyValues{{"length", "1KiB:all"}, {"mode", "slow"}});
    EXPECT_EQ(assignment.integer("length", Side::sender), 1024);
    EXPECT_EQ(assignment.text("length", Side::receiver), "all");
    EXPECT_EQ(assignment.integer("count"), 3);
    EXPECT_EQ(assignment.seconds("limit_s"), 0.5);
    EXPECT_TRUE(assignment.flag("check"));
    EXPECT_EQ(assignment.differences("mode"), "length=1024:all");
    EXPECT_TRUE(contains(refused({{"lenght", "1"}}), "did you mean length?"));
    EXPECT_TRUE(contains(refused({{"mode", "slwo"}}), "did you mean slow?"));
    EXPECT_TRUE(contains(refused({{"mode", "quantum"}}), "valid: fast slow"));
    EXPECT_TRUE(contains(refused({{"count", "0"}}), "smallest value is 1"));
    EXPECT_TRUE(contains(refused({{"count", "1001"}}), "largest value is 1000"));
    EXPECT_TRUE(contains(refused({{"count", "1:2"}}), "no sides"));
    EXPECT_TRUE(contains(refused({{"count", "1"}, {"count", "2"}}), "twice"));
    for (const std::string_view text : {"", "-1", "nan", "inf", "1s", "11"})
        EXPECT_FALSE(refused({{"limit_s", std::string(text)}}).empty());
    EXPECT_TRUE(contains(refused({{"check", "yes"}}), "on off"));
}

TEST(Words, ListsAndRangesExpand) {
    using Strings = std::vector<std::string>;
    EXPECT_EQ(expand_values(table[0], "8,1KiB:2,1KiB..8KiB*2"),
              (Strings{"8", "1024:2", "1024", "2048", "4096", "8192"}));
    EXPECT_EQ(expand_values(table[0], "0..24+8"), (Strings{"0", "8", "16", "24"}));
    EXPECT_EQ(expand_values(table[0], "1..8+1*2"), (Strings{"1", "2", "4", "8"}));
    EXPECT_EQ(expand_values(table[0], "1KiB+1..1KiB+9+4"), (Strings{"1025", "1029", "1033"}));
    EXPECT_EQ(expand_values(table[3], "fast,slow:fast"), (Strings{"fast", "slow:fast"}));
    for (const std::string_view text :
         {"1..8", "8..1*2", "0..8*2", "1..8*1", "1..8+0", "1:2..8*2", "1,", ",", "a..b+1"})
        EXPECT_FALSE(
            test::thrown<UsageError>([&] { static_cast<void>(expand_values(table[0], text)); }).empty());
    const std::vector<KeyValues> cells = expand_cells(table, {{"count", "1,2"}, {"mode", "fast,slow"}});
    EXPECT_EQ(cells.size(), 4);
    EXPECT_EQ(cells[1], (KeyValues{{"count", "1"}, {"mode", "slow"}}));
    EXPECT_FALSE(test::thrown<UsageError>([&] {
                     expand_cells(table, {{"count", "1..1000+1"}, {"length", "1..5000+1"}});
                 }).empty());
}

TEST(Words, CommandLines) {
    const std::vector<std::string_view> words{"p2p",  "--message-bytes=8", "--out",
                                              "here", "--pages",           "huge:small"};
    const Arguments arguments = parse_arguments(words);
    EXPECT_EQ(arguments.action, Action::run_experiment);
    EXPECT_EQ(arguments.experiment, "p2p");
    EXPECT_EQ(arguments.out, "here");
    EXPECT_EQ(arguments.parameters, (KeyValues{{"message-bytes", "8"}, {"pages", "huge:small"}}));
    const std::vector<std::string_view> plan{"--plan", "a", "--out=b"};
    EXPECT_EQ(parse_arguments(plan).action, Action::run_plan);
    const std::vector<std::string_view> describe{"describe", "--json"};
    EXPECT_TRUE(parse_arguments(describe).json);
    EXPECT_EQ(parse_arguments({}).action, Action::help);
    EXPECT_TRUE(contains(refused_line({"--plan", "a"}), "--out"));
    EXPECT_TRUE(contains(refused_line({"p2p", "--plan", "a", "--out", "b"}), "p2p"));
    EXPECT_TRUE(contains(refused_line({"p2p", "--samples"}), "needs a value"));
    EXPECT_TRUE(contains(refused_line({"p2p", "8"}), "--name value"));
    EXPECT_TRUE(contains(refused_line({"--out", "b"}), "no experiment"));
    EXPECT_TRUE(contains(refused_line({"p2p", "--out", "a", "--out", "b"}), "twice"));
}

TEST(Words, Plans) {
    const Plan plan = parse_plan(
        "slowpath-plan 1\nlaunch 42\nseed 18446744073709551615\n\ncell 3 p2p message_bytes=8\ncell 1 p2p\n");
    EXPECT_EQ(plan.launch, 42);
    EXPECT_EQ(plan.seed, 18446744073709551615U);
    EXPECT_TRUE(plan.cells.size() == 2 && plan.cells[0].cell == 3 && plan.cells[1].cell == 1);
    EXPECT_EQ(plan.cells[0].parameters, (KeyValues{{"message_bytes", "8"}}));
    EXPECT_TRUE(contains(refused_plan(""), "empty"));
    EXPECT_TRUE(contains(refused_plan("slowpath-plan 2\n"), "line 1"));
    EXPECT_TRUE(contains(refused_plan("slowpath-plan 1\ncell 1 p2p\ncell 1 p2p\n"), "line 3"));
    EXPECT_TRUE(contains(refused_plan("slowpath-plan 1\ncell 1 p2p x\n"), "NAME=VALUE"));
    EXPECT_TRUE(contains(refused_plan("slowpath-plan 1\ncell 4294967296 p2p\n"), "4294967295"));
    EXPECT_TRUE(contains(refused_plan("slowpath-plan 1\nfoo\n"), "'foo'"));
}

TEST(Words, NearWords) {
    EXPECT_EQ(edit_distance("", "abc"), 3);
    EXPECT_EQ(edit_distance("kitten", "sitting"), 3);
    EXPECT_EQ(edit_distance("same", "same"), 0);
}

}  // namespace
