// SPDX-License-Identifier: Apache-2.0
/// tuning.json: which mock-up stands in for which collective, for how many ranks and how many bytes
/// (src/slowpath/mpi/tuning.py writes it).
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <variant>

#include "mockups/mockups.hpp"

namespace slowpath::replace {

struct Range {
    std::int64_t from = 0;
    std::int64_t to = 0;  ///< the last one
    bool holds(std::int64_t value) const { return from <= value && value <= to; }
};

struct Row {
    const mockups::Mockup* mockup = nullptr;
    Range ranks;
    Range bytes;
};

struct Table {
    std::string mpi;  ///< "mpich-5.0.2": what the rows were proven for
    std::deque<Row> rows;
};

/// What is not known in an object is left aside.
/// @return A line that says what is wrong, where the text is no such table.
std::variant<Table, std::string> read_table(std::string_view text);

/// "mpich-5.0.2" names the library that says "MPICH Version: 5.0.2 ...".
bool names_library(std::string_view mpi, std::string_view library_version);

}  // namespace slowpath::replace
