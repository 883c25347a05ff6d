// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <fstream>

#include "counting/elf_file.hpp"
#include "counting/frame_ranges.hpp"
#include "counting/instruction.hpp"
#include "counting/mappings.hpp"
#include "counting/names.hpp"
#include "counting/trace.hpp"
#include "tests/check.hpp"

using namespace slowpath;
using namespace slowpath::counting;

namespace {

bool repeated(std::array<std::uint8_t, 4> code) {
    return is_repeated(code.data());
}

void knows_repeated_instructions() {
    CHECK(repeated({0xf3, 0xa4, 0, 0}));         // rep movsb
    CHECK(repeated({0xf3, 0x48, 0xa5, 0}));      // rep movsq
    CHECK(repeated({0xf2, 0xae, 0, 0}));         // repne scasb
    CHECK(repeated({0x66, 0xf3, 0xab, 0}));      // rep stosw
    CHECK(!repeated({0xa4, 0, 0, 0}));           // movsb
    CHECK(!repeated({0xf3, 0xc3, 0, 0}));        // repz ret
    CHECK(!repeated({0xf3, 0x90, 0, 0}));        // pause
    CHECK(!repeated({0xf3, 0x0f, 0x1e, 0xfa}));  // endbr64
    CHECK(!repeated({0xf2, 0x0f, 0x58, 0xc1}));  // addsd
}

void splits_a_trace_into_calls() {
    const auto own = [](std::uint64_t address) { return address < 100; };
    const std::array<Traced, 12> trace{
        1, 200, 201, 2, 300 | repeated_bit, 300 | repeated_bit, 300 | repeated_bit, 301, 400, 400, 3, 200};
    const Calls calls = split_calls(trace, own);
    CHECK((calls.stepped == std::vector<std::uint32_t>{2, 6, 1}));
    // A loop of one instruction is not a repeated one.
    CHECK((calls.retired == std::vector<std::uint32_t>{2, 4, 1}));
    CHECK(calls.instructions.size() == 9);
    CHECK(calls.instructions.front() == 200);
    CHECK(calls.instructions.back() == 400);
    CHECK(split_calls({}, own).stepped.empty());
}

void reads_mappings() {
    const auto mappings = parse_mappings(
        "55d000001000-55d000002000 r-xp 00001000 fe:01 1234                       /opt/my program\n"
        "garbage\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
        "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]\n");
    CHECK(mappings.size() == 3);
    CHECK(mappings[0].path == "/opt/my program");
    CHECK(mappings[0].executable && mappings[0].offset == 0x1000);
    CHECK(mappings[1].path.empty() && !mappings[1].executable);
    CHECK(find_mapping(mappings, 0x55d000001000) == &mappings[0]);
    CHECK(find_mapping(mappings, 0x55d000002000) == nullptr);
    CHECK(find_mapping(mappings, 0) == nullptr);
    CHECK(find_mapping(mappings, 0x7ffd00001fff)->path == "[vdso]");
}

void damaged_frames_are_not_read_beyond() {
    CHECK(frame_ranges({}, 0).empty());
    std::array<std::uint8_t, 64> bytes{};
    CHECK(frame_ranges(bytes, 0).empty());
    for (unsigned first = 0; first < 256; ++first) {
        bytes.fill(static_cast<std::uint8_t>(first));
        bytes[0] = 20;
        bytes[1] = bytes[2] = bytes[3] = 0;
        frame_ranges(bytes, 0x1000);
    }
}

void other_files_have_no_functions() {
    CHECK(!ElfFile("/nonexistent").valid());
    CHECK(!ElfFile("/proc/self/maps").valid());
    CHECK(ElfFile("/nonexistent").function_at(1) == "?");
    const ElfFile own("/proc/self/exe");
    CHECK(own.valid());
    CHECK(own.addresses_named("main").size() == 1);
    CHECK(own.function_at(own.addresses_named("main").at(0)) == "main");
    CHECK(own.addresses_named("no_such_function").empty());
}

void names_come_from_the_process() {
    Names names(read_mappings("self"));
    const Place place = names.at(reinterpret_cast<std::uint64_t>(&names_come_from_the_process));
    CHECK(test::contains(place.library, "slowpath_test_counting_parts"));
    CHECK(test::contains(place.function, "names_come_from_the_process"));
    CHECK(names.at(1).function == "?");
}

}  // namespace

int main() {
    knows_repeated_instructions();
    splits_a_trace_into_calls();
    reads_mappings();
    damaged_frames_are_not_read_beyond();
    other_files_have_no_functions();
    names_come_from_the_process();
    return test::result();
}
