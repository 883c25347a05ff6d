// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "replace/table.hpp"

namespace {

using namespace slowpath::replace;
using slowpath::mockups::Collective;

std::string wrong(std::string_view text) {
    const auto read = read_table(text);
    const auto* const said = std::get_if<std::string>(&read);
    return said == nullptr ? "" : *said;
}

std::string with_row(const std::string& row) {
    return R"({"schema": 1, "mpi": "mpich-5.0.2", "rows": [)" + row + "]}";
}

TEST(Table, RowsInTheirOrderAndWhatIsNotKnownLeftAside) {
    const auto read = read_table(
        R"({"made": {"by": ["x", 1.5e3, null, true, "é\"{"]}, "schema": 1, "mpi": "mpich-5.0.2", "rows": [
            {"collective": "bcast", "ranks": [2, 8], "bytes": [65536, 1048576], "mockup": "scatter+allgather", "factor": 2.1},
            {"collective": "scan", "ranks": [4, 4], "bytes": [0, 8], "mockup": "doubling"}]})");
    const auto& table = std::get<Table>(read);
    EXPECT_EQ(table.mpi, "mpich-5.0.2");
    ASSERT_EQ(table.rows.size(), 2U);
    EXPECT_EQ(table.rows[0].mockup, slowpath::mockups::find(Collective::bcast, "scatter+allgather"));
    EXPECT_EQ(table.rows[0].bytes.from, 65536);
    EXPECT_EQ(table.rows[0].bytes.to, 1048576);
    EXPECT_EQ(table.rows[1].mockup->of, Collective::scan);
    EXPECT_TRUE(table.rows[1].ranks.holds(4));
    EXPECT_FALSE(table.rows[1].ranks.holds(5));
}

TEST(Table, NoRowsIsATable) {
    EXPECT_EQ(wrong(with_row("")), "");
}

TEST(Table, WhatIsWrongIsSaidWithItsLine) {
    EXPECT_EQ(wrong(""), "line 1: expected {");
    EXPECT_EQ(wrong("[]"), "line 1: expected {");
    EXPECT_EQ(wrong(R"({"schema": 2, "mpi": "mpich-5.0.2", "rows": []})"), "line 1: its schema is not 1");
    EXPECT_EQ(wrong(R"({"schema": 1, "rows": []})"), "line 1: it has no rows or no mpi");
    EXPECT_EQ(wrong(with_row("") + " x"), "line 1: more after the end");
    EXPECT_EQ(wrong(with_row("\n{\"collective\": \"bcast\"}")),
              "line 2: a row needs collective, ranks, bytes and mockup");
    const std::string row = R"({"collective": "bcast", "ranks": RANKS, "bytes": [1, 2], "mockup": "NAME"})";
    const auto filled = [&](const std::string& ranks, const std::string& name) {
        std::string text = row;
        text.replace(text.find("RANKS"), 5, ranks);
        text.replace(text.find("NAME"), 4, name);
        return wrong(with_row(text));
    };
    EXPECT_EQ(filled("[2, 2]", "allgatherv"), "");
    EXPECT_EQ(filled("[2, 2]", "faster"), "line 1: no mock-up 'faster' of a collective 'bcast'");
    for (const char* const ranks : {"[3, 2]", "[-1, 2]", "[2]", "[2, 3, 4]"})
        EXPECT_EQ(filled(ranks, "allgatherv"), "line 1: not a range [from, to]") << ranks;
    EXPECT_EQ(filled("[2, 2.5]", "allgatherv"), "line 1: not a whole number");
    EXPECT_EQ(filled("2", "allgatherv"), "line 1: expected [");
}

TEST(Table, NoBeginningOfATableIsOne) {
    const std::string text =
        with_row(R"({"collective": "bcast", "ranks": [2, 2], "bytes": [1, 2], "mockup": "allgatherv"})");
    ASSERT_EQ(wrong(text), "");
    for (std::size_t length = 0; length < text.size(); ++length)
        EXPECT_NE(wrong(std::string_view(text).substr(0, length)), "") << length;
    EXPECT_NE(wrong(std::string(100000, '[')), "");
}

TEST(Table, ItsLibraryIsTheOneThatRuns) {
    EXPECT_TRUE(names_library("mpich-5.0.2", "MPICH Version:      5.0.2\nMPICH Release date: 2026"));
    EXPECT_FALSE(names_library("mpich-5.0.2", "MPICH Version: 5.0.20"));
    EXPECT_FALSE(names_library("mpich-5.0.2", "MPICH Version: 15.0.2"));
    EXPECT_FALSE(names_library("mpich-5.0.2", "Open MPI v5.0.2"));
    EXPECT_TRUE(names_library("openmpi-5.0.10", "Open MPI v5.0.10, package: Open MPI"));
    EXPECT_TRUE(names_library("intelmpi-2021.18", "Intel(R) MPI Library 2021.18 for Linux* OS"));
    EXPECT_FALSE(names_library("5.0.2", "MPICH Version: 5.0.2"));
    EXPECT_FALSE(names_library("mpich-", "MPICH Version: 5.0.2"));
}

}  // namespace
