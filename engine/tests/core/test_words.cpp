// SPDX-License-Identifier: Apache-2.0
// What users write: values, lists, ranges, command lines, plans; and the error when it can't be meant.
#include "core/arguments.hpp"
#include "core/bytes.hpp"
#include "core/error.hpp"
#include "core/nearest.hpp"
#include "core/plan.hpp"
#include "core/sweep.hpp"
#include "tests/check.hpp"

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

void bytes_are_read() {
    CHECK(parse_bytes("0") == 0);
    CHECK(parse_bytes("4096") == 4096);
    CHECK(parse_bytes("1KiB") == 1024);
    CHECK(parse_bytes("1GiB+1") == 1073741825);
    CHECK(parse_bytes("2MiB-64") == 2097088);
    CHECK(parse_bytes("1KiB+1KiB-3") == 2045);
    CHECK(parse_bytes("9223372036854775807") == 9223372036854775807);
}

void bytes_are_refused_with_the_right_spelling() {
    CHECK(contains(refused_bytes("1GB"), "1GiB"));
    CHECK(contains(refused_bytes("1kib"), "1KiB"));
    CHECK(contains(refused_bytes("3G"), "3GiB"));
    CHECK(contains(refused_bytes("1e9"), "1000000000"));
    CHECK(contains(refused_bytes("8B"), "write 8"));
    CHECK(contains(refused_bytes("1.5GiB"), "whole number"));
    CHECK(contains(refused_bytes("-1"), "0 or more"));
    CHECK(contains(refused_bytes("1-2"), "0 or more"));
    CHECK(contains(refused_bytes(""), "empty"));
    CHECK(contains(refused_bytes("9223372036854775808"), "9223372036854775807"));
    CHECK(contains(refused_bytes("8388608TiB"), "9223372036854775807"));
    CHECK(contains(refused_bytes("9223372036854775807+1"), "9223372036854775807"));
    for (const std::string_view text : {"+1", "1+", "x", "1 ", " 1", "1KiB*2", "0x10", "1GiB++1"})
        CHECK(!refused_bytes(text).empty());
}

void assignments_have_defaults_sides_and_limits() {
    const Assignment assignment(table, KeyValues{{"length", "1KiB:all"}, {"mode", "slow"}});
    CHECK(assignment.integer("length", Side::sender) == 1024);
    CHECK(assignment.text("length", Side::receiver) == "all");
    CHECK(assignment.integer("count") == 3);
    CHECK(assignment.seconds("limit_s") == 0.5);
    CHECK(assignment.flag("check"));
    CHECK(assignment.differences("mode") == "length=1024:all");
    CHECK(contains(refused({{"lenght", "1"}}), "did you mean length?"));
    CHECK(contains(refused({{"mode", "slwo"}}), "did you mean slow?"));
    CHECK(contains(refused({{"mode", "quantum"}}), "valid: fast slow"));
    CHECK(contains(refused({{"count", "0"}}), "smallest value is 1"));
    CHECK(contains(refused({{"count", "1001"}}), "largest value is 1000"));
    CHECK(contains(refused({{"count", "1:2"}}), "no sides"));
    CHECK(contains(refused({{"count", "1"}, {"count", "2"}}), "twice"));
    for (const std::string_view text : {"", "-1", "nan", "inf", "1s", "11"})
        CHECK(!refused({{"limit_s", std::string(text)}}).empty());
    CHECK(contains(refused({{"check", "yes"}}), "on off"));
}

void lists_and_ranges_expand() {
    using Strings = std::vector<std::string>;
    CHECK((expand_values(table[0], "8,1KiB:2,1KiB..8KiB*2") ==
           Strings{"8", "1024:2", "1024", "2048", "4096", "8192"}));
    CHECK((expand_values(table[0], "0..24+8") == Strings{"0", "8", "16", "24"}));
    CHECK((expand_values(table[0], "1..8+1*2") == Strings{"1", "2", "4", "8"}));
    CHECK((expand_values(table[0], "1KiB+1..1KiB+9+4") == Strings{"1025", "1029", "1033"}));
    CHECK((expand_values(table[3], "fast,slow:fast") == Strings{"fast", "slow:fast"}));
    for (const std::string_view text :
         {"1..8", "8..1*2", "0..8*2", "1..8*1", "1..8+0", "1:2..8*2", "1,", ",", "a..b+1"})
        CHECK(!test::thrown<UsageError>([&] { static_cast<void>(expand_values(table[0], text)); }).empty());
    const std::vector<KeyValues> cells = expand_cells(table, {{"count", "1,2"}, {"mode", "fast,slow"}});
    CHECK(cells.size() == 4);
    CHECK((cells[1] == KeyValues{{"count", "1"}, {"mode", "slow"}}));
    CHECK(!test::thrown<UsageError>([&] {
               expand_cells(table, {{"count", "1..1000+1"}, {"length", "1..5000+1"}});
           }).empty());
}

void command_lines() {
    const std::vector<std::string_view> words{"p2p",  "--message-bytes=8", "--out",
                                              "here", "--pages",           "huge:small"};
    const Arguments arguments = parse_arguments(words);
    CHECK(arguments.action == Action::run_experiment);
    CHECK(arguments.experiment == "p2p");
    CHECK(arguments.out == "here");
    CHECK((arguments.parameters == KeyValues{{"message-bytes", "8"}, {"pages", "huge:small"}}));
    const std::vector<std::string_view> plan{"--plan", "a", "--out=b"};
    CHECK(parse_arguments(plan).action == Action::run_plan);
    const std::vector<std::string_view> describe{"describe", "--json"};
    CHECK(parse_arguments(describe).json);
    CHECK(parse_arguments({}).action == Action::help);
    CHECK(contains(refused_line({"--plan", "a"}), "--out"));
    CHECK(contains(refused_line({"p2p", "--plan", "a", "--out", "b"}), "p2p"));
    CHECK(contains(refused_line({"p2p", "--samples"}), "needs a value"));
    CHECK(contains(refused_line({"p2p", "8"}), "--name value"));
    CHECK(contains(refused_line({"--out", "b"}), "no experiment"));
    CHECK(contains(refused_line({"p2p", "--out", "a", "--out", "b"}), "twice"));
}

void plans() {
    const Plan plan = parse_plan(
        "slowpath-plan 1\nlaunch 42\nseed 18446744073709551615\n\ncell 3 p2p message_bytes=8\ncell 1 p2p\n");
    CHECK(plan.launch == 42);
    CHECK(plan.seed == 18446744073709551615U);
    CHECK(plan.cells.size() == 2 && plan.cells[0].cell == 3 && plan.cells[1].cell == 1);
    CHECK((plan.cells[0].parameters == KeyValues{{"message_bytes", "8"}}));
    CHECK(contains(refused_plan(""), "empty"));
    CHECK(contains(refused_plan("slowpath-plan 2\n"), "line 1"));
    CHECK(contains(refused_plan("slowpath-plan 1\ncell 1 p2p\ncell 1 p2p\n"), "line 3"));
    CHECK(contains(refused_plan("slowpath-plan 1\ncell 1 p2p x\n"), "NAME=VALUE"));
    CHECK(contains(refused_plan("slowpath-plan 1\ncell 4294967296 p2p\n"), "4294967295"));
    CHECK(contains(refused_plan("slowpath-plan 1\nfoo\n"), "'foo'"));
}

void near_words() {
    CHECK(edit_distance("", "abc") == 3);
    CHECK(edit_distance("kitten", "sitting") == 3);
    CHECK(edit_distance("same", "same") == 0);
}

}  // namespace

int main() {
    bytes_are_read();
    bytes_are_refused_with_the_right_spelling();
    assignments_have_defaults_sides_and_limits();
    lists_and_ranges_expand();
    command_lines();
    plans();
    near_words();
    return test::result();
}
