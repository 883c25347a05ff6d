// SPDX-License-Identifier: Apache-2.0
/// layout.hpp against schema/watch.json: each field's name, place and length.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "watch/call.hpp"
#include "watch/layout.hpp"

using namespace slowpath::watch;

namespace {

struct Field {
    std::string name;
    std::size_t offset, bytes;
    bool operator==(const Field&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Field& field) {
    return out << field.name << " at " << field.offset << ", " << field.bytes << " bytes";
}

std::string schema() {
    std::ifstream file(SLOWPATH_SCHEMA);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// "<u4", "S512", "(48)<u4"
std::size_t bytes_of(const std::string& type) {
    const std::size_t digits = type.find_last_not_of("0123456789") + 1;
    const std::size_t times = type[0] == '(' ? std::stoul(type.substr(1)) : 1;
    return times * std::stoul(type.substr(digits));
}

std::string word_after(const std::string& text, const std::string& key, std::size_t from) {
    std::size_t begin = text.find("\"" + key + "\": ", from) + key.size() + 4;
    if (text[begin] == '"') ++begin;
    return text.substr(begin, text.find_first_of("\",}", begin) - begin);
}

/// The fields of the list that begins after `from`.
std::vector<Field> fields_after(const std::string& text, std::size_t from) {
    std::vector<Field> fields;
    const std::size_t begin = text.find("\"fields\": [", from);
    const std::size_t end = std::min(text.find("\n    ]}", begin), text.find("\n  ],", begin));
    for (std::size_t at = text.find("{\"name\"", begin); at < end; at = text.find("{\"name\"", at + 1))
        fields.push_back({word_after(text, "name", at), std::stoul(word_after(text, "offset", at)),
                          bytes_of(word_after(text, "type", at))});
    return fields;
}

#define FIELD(Row, name)                                              \
    Field {                                                           \
        #name, offsetof(layout::Row, name), sizeof(layout::Row::name) \
    }

void expect_section(const std::string& name, std::uint32_t number, std::size_t element_bytes,
                    const std::vector<Field>& fields) {
    const std::string text = schema();
    const std::size_t from = text.find("\"" + name + "\": {\"number\"");
    ASSERT_NE(from, std::string::npos) << name;
    EXPECT_EQ(std::stoul(word_after(text, "number", from)), number) << name;
    EXPECT_EQ(std::stoul(word_after(text, "element_bytes", from)), element_bytes) << name;
    EXPECT_EQ(fields_after(text, from), fields) << name;
}

}  // namespace

TEST(Layout, HeaderIsTheSchemas) {
    const std::vector<Field> fields{FIELD(Header, magic),
                                    FIELD(Header, version),
                                    FIELD(Header, header_bytes),
                                    FIELD(Header, file_bytes),
                                    FIELD(Header, section_count),
                                    FIELD(Header, state),
                                    FIELD(Header, pid),
                                    FIELD(Header, world_rank),
                                    FIELD(Header, world_size),
                                    FIELD(Header, interface),
                                    FIELD(Header, thread_level),
                                    FIELD(Header, ticks_kind),
                                    FIELD(Header, start_ticks),
                                    FIELD(Header, start_monotonic_ns),
                                    FIELD(Header, start_realtime_ns),
                                    FIELD(Header, end_ticks),
                                    FIELD(Header, end_monotonic_ns),
                                    FIELD(Header, end_realtime_ns),
                                    FIELD(Header, process_start_realtime_ns),
                                    FIELD(Header, window_ns),
                                    FIELD(Header, call_cost_ns),
                                    FIELD(Header, parent_rank_hint),
                                    FIELD(Header, spawn_ticks),
                                    FIELD(Header, host),
                                    FIELD(Header, program),
                                    FIELD(Header, library),
                                    FIELD(Header, library_path),
                                    FIELD(Header, local_call_ticks),
                                    FIELD(Header, thinned_call_cost_ns),
                                    FIELD(Header, reserved)};
    EXPECT_EQ(fields_after(schema(), 0), fields);
}

TEST(Layout, SectionsAreTheSchemas) {
    using layout::Is;
    const auto number = [](Is kind) { return static_cast<std::uint32_t>(kind); };
    expect_section("section_row", 0, sizeof(layout::SectionRow),
                   {FIELD(SectionRow, kind), FIELD(SectionRow, lane), FIELD(SectionRow, offset),
                    FIELD(SectionRow, capacity), FIELD(SectionRow, element_bytes), FIELD(SectionRow, used),
                    FIELD(SectionRow, lost)});
    expect_section("lanes", number(Is::lanes), sizeof(layout::Lane),
                   {FIELD(Lane, thread), FIELD(Lane, level), FIELD(Lane, calls), FIELD(Lane, call_ticks),
                    FIELD(Lane, first_ticks), FIELD(Lane, last_ticks), FIELD(Lane, events_seen),
                    FIELD(Lane, own_ticks), FIELD(Lane, thinned)});
    expect_section(
        "profile", number(Is::profile), sizeof(layout::Profile),
        {FIELD(Profile, site), FIELD(Profile, call), FIELD(Profile, size_class), FIELD(Profile, flags),
         FIELD(Profile, peer), FIELD(Profile, buffer_class), FIELD(Profile, communicator),
         FIELD(Profile, count), FIELD(Profile, bytes), FIELD(Profile, ticks), FIELD(Profile, least_ticks),
         FIELD(Profile, most_ticks), FIELD(Profile, allocation_bytes), FIELD(Profile, histogram)});
    expect_section(
        "events", number(Is::events), sizeof(layout::Event),
        {FIELD(Event, start_ticks), FIELD(Event, end_ticks), FIELD(Event, bytes), FIELD(Event, request),
         FIELD(Event, sequence), FIELD(Event, site), FIELD(Event, peer), FIELD(Event, tag),
         FIELD(Event, allocation), FIELD(Event, call), FIELD(Event, kind), FIELD(Event, communicator),
         FIELD(Event, datatype), FIELD(Event, requests), FIELD(Event, start_offset)});
    expect_section("calls", number(Is::calls), sizeof(layout::CallRow),
                   {FIELD(CallRow, name), FIELD(CallRow, calls), FIELD(CallRow, family),
                    FIELD(CallRow, importers), FIELD(CallRow, dlsym), FIELD(CallRow, reserved)});
    expect_section("sites", number(Is::sites), sizeof(layout::Site),
                   {FIELD(Site, depth), FIELD(Site, fortran), FIELD(Site, python), FIELD(Site, frames)});
    expect_section("communicators", number(Is::communicators), sizeof(layout::Communicator),
                   {FIELD(Communicator, identity), FIELD(Communicator, size), FIELD(Communicator, rank),
                    FIELD(Communicator, members_offset), FIELD(Communicator, members_count),
                    FIELD(Communicator, parent), FIELD(Communicator, is_inter), FIELD(Communicator, made_by),
                    FIELD(Communicator, topology), FIELD(Communicator, name)});
    expect_section("members", number(Is::members), sizeof(layout::Member), {FIELD(Member, world_rank)});
    expect_section(
        "datatypes", number(Is::datatypes), sizeof(layout::Datatype),
        {FIELD(Datatype, bytes), FIELD(Datatype, extent_bytes), FIELD(Datatype, blocks),
         FIELD(Datatype, least_block_bytes), FIELD(Datatype, most_block_bytes), FIELD(Datatype, span_bytes),
         FIELD(Datatype, combiner), FIELD(Datatype, shape), FIELD(Datatype, reserved)});
    expect_section("allocations", number(Is::allocations), sizeof(layout::Allocation),
                   {FIELD(Allocation, address), FIELD(Allocation, bytes), FIELD(Allocation, page_bytes),
                    FIELD(Allocation, uses), FIELD(Allocation, first_ticks), FIELD(Allocation, last_ticks),
                    FIELD(Allocation, kind), FIELD(Allocation, device), FIELD(Allocation, buffer_class),
                    FIELD(Allocation, alive), FIELD(Allocation, site), FIELD(Allocation, remainder_bytes)});
    expect_section("text", number(Is::text), sizeof(layout::Text), {FIELD(Text, byte)});
    expect_section("current", number(Is::current), sizeof(layout::Current),
                   {FIELD(Current, since_ticks), FIELD(Current, doing), FIELD(Current, call),
                    FIELD(Current, communicator), FIELD(Current, collective_communicator),
                    FIELD(Current, site), FIELD(Current, peer), FIELD(Current, source), FIELD(Current, tag),
                    FIELD(Current, sequence), FIELD(Current, requests), FIELD(Current, request),
                    FIELD(Current, collective_sequence), FIELD(Current, ticks_per_s)});
    expect_section(
        "samples", number(Is::samples), sizeof(layout::Sample),
        {FIELD(Sample, ticks), FIELD(Sample, ran_ns), FIELD(Sample, waited_ns), FIELD(Sample, system_us),
         FIELD(Sample, read_bytes), FIELD(Sample, written_bytes), FIELD(Sample, minor_faults),
         FIELD(Sample, major_faults), FIELD(Sample, reads), FIELD(Sample, writes), FIELD(Sample, system_call),
         FIELD(Sample, state), FIELD(Sample, processor), FIELD(Sample, reserved)});
}

TEST(Layout, NamesOfCallsFit) {
    for (const Shape& shape : shapes)
        EXPECT_LT(std::string(shape.name).size(), sizeof(layout::CallRow::name));
}
