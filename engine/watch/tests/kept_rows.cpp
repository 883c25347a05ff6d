// SPDX-License-Identifier: Apache-2.0
#include "kept_rows.hpp"

namespace slowpath::watch {
namespace {

Sections kept;
layout::Allocation allocations[kept_capacity];
layout::Datatype datatypes[kept_capacity];
layout::SectionRow allocation_table, datatype_table;

}  // namespace

void keep_rows_anew(std::uint32_t capacity) {
    allocation_table = datatype_table = {};
    allocation_table.capacity = datatype_table.capacity = capacity;
    kept.allocations = {allocations, &allocation_table};
    kept.datatypes = {datatypes, &datatype_table};
}

std::uint32_t lost_allocations() {
    return allocation_table.lost;
}

std::uint32_t lost_datatypes() {
    return datatype_table.lost;
}

Sections& sections() {
    return kept;
}

}  // namespace slowpath::watch
