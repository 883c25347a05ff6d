// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <fstream>

#include "counting/elf_file.hpp"
#include "counting/frame_ranges.hpp"
#include "counting/instruction.hpp"
#include "counting/mappings.hpp"
#include "counting/names.hpp"
#include "counting/trace.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using namespace slowpath::counting;

namespace {

bool repeated(std::array<std::uint8_t, 4> code) {
    return is_repeated(code.data());
}

TEST(CountingParts, KnowsRepeatedInstructions) {
    EXPECT_TRUE(repeated({0xf3, 0xa4, 0, 0}));         // rep movsb
    EXPECT_TRUE(repeated({0xf3, 0x48, 0xa5, 0}));      // rep movsq
    EXPECT_TRUE(repeated({0xf2, 0xae, 0, 0}));         // repne scasb
    EXPECT_TRUE(repeated({0x66, 0xf3, 0xab, 0}));      // rep stosw
    EXPECT_FALSE(repeated({0xa4, 0, 0, 0}));           // movsb
    EXPECT_FALSE(repeated({0xf3, 0xc3, 0, 0}));        // repz ret
    EXPECT_FALSE(repeated({0xf3, 0x90, 0, 0}));        // pause
    EXPECT_FALSE(repeated({0xf3, 0x0f, 0x1e, 0xfa}));  // endbr64
    EXPECT_FALSE(repeated({0xf2, 0x0f, 0x58, 0xc1}));  // addsd
}

TEST(CountingParts, SplitsATraceIntoCalls) {
    const auto own = [](std::uint64_t address) { return address < 100; };
    const std::array<Traced, 12> trace{
        1, 200, 201, 2, 300 | repeated_bit, 300 | repeated_bit, 300 | repeated_bit, 301, 400, 400, 3, 200};
    const Calls calls = split_calls(trace, own);
    EXPECT_EQ(calls.stepped, (std::vector<std::uint32_t>{2, 6, 1}));
    // A loop of one instruction is not a repeated one.
    EXPECT_EQ(calls.retired, (std::vector<std::uint32_t>{2, 4, 1}));
    EXPECT_EQ(calls.instructions.size(), 9);
    EXPECT_EQ(calls.instructions.front(), 200);
    EXPECT_EQ(calls.instructions.back(), 400);
    EXPECT_TRUE(split_calls({}, own).stepped.empty());
}

TEST(CountingParts, ReadsMappings) {
    const auto mappings = parse_mappings(
        "55d000001000-55d000002000 r-xp 00001000 fe:01 1234                       /opt/my program\n"
        "garbage\n"
        "7f0000000000-7f0000001000 rw-p 00000000 00:00 0 \n"
        "7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0                          [vdso]\n");
    EXPECT_EQ(mappings.size(), 3);
    EXPECT_EQ(mappings[0].path, "/opt/my program");
    EXPECT_TRUE(mappings[0].executable && mappings[0].offset == 0x1000);
    EXPECT_TRUE(mappings[1].path.empty() && !mappings[1].executable);
    EXPECT_EQ(find_mapping(mappings, 0x55d000001000), &mappings[0]);
    EXPECT_EQ(find_mapping(mappings, 0x55d000002000), nullptr);
    EXPECT_EQ(find_mapping(mappings, 0), nullptr);
    EXPECT_EQ(find_mapping(mappings, 0x7ffd00001fff)->path, "[vdso]");
}

TEST(CountingParts, DamagedFramesAreNotReadBeyond) {
    EXPECT_TRUE(frame_ranges({}, 0).empty());
    std::array<std::uint8_t, 64> bytes{};
    EXPECT_TRUE(frame_ranges(bytes, 0).empty());
    for (unsigned first = 0; first < 256; ++first) {
        bytes.fill(static_cast<std::uint8_t>(first));
        bytes[0] = 20;
        bytes[1] = bytes[2] = bytes[3] = 0;
        frame_ranges(bytes, 0x1000);
    }
}

TEST(CountingParts, OtherFilesHaveNoFunctions) {
    EXPECT_FALSE(ElfFile("/nonexistent").valid());
    EXPECT_FALSE(ElfFile("/proc/self/maps").valid());
    EXPECT_EQ(ElfFile("/nonexistent").function_at(1), "?");
    const ElfFile own("/proc/self/exe");
    EXPECT_TRUE(own.valid());
    EXPECT_EQ(own.addresses_named("main").size(), 1);
    EXPECT_EQ(own.function_at(own.addresses_named("main").at(0)), "main");
    EXPECT_TRUE(own.addresses_named("no_such_function").empty());
}

[[gnu::noinline]] void function_with_a_name() {
    asm volatile("");
}

TEST(CountingParts, NamesComeFromTheProcess) {
    Names names(read_mappings("self"));
    const Place place = names.at(reinterpret_cast<std::uint64_t>(&function_with_a_name));
    EXPECT_TRUE(test::contains(place.library, "slowpath_test_counting_parts"));
    EXPECT_TRUE(test::contains(place.function, "function_with_a_name"));
    EXPECT_EQ(names.at(1).function, "?");
}

}  // namespace
