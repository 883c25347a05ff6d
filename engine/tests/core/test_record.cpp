// SPDX-License-Identifier: Apache-2.0
// What is written: blocks, checksums, JSON, files; and the bytes that messages carry.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "core/address_book.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "core/node_ranks.hpp"
#include "core/pattern.hpp"
#include "core/text_table.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"
#include "record/writer.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using test::contains;

namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
    return std::as_bytes(std::span(text));
}

TEST(Record, ChecksumIsThatOfZlib) {
    EXPECT_EQ(crc32(bytes_of("123456789")), 0xCBF43926U);
    EXPECT_EQ(crc32({}), 0);
    EXPECT_EQ(crc32(bytes_of("6789"), crc32(bytes_of("12345"))), 0xCBF43926U);
}

std::vector<std::byte> two_blocks() {
    const std::vector<std::int64_t> durations{5, 6, 7}, begins{1000, 1010, 1020};
    BlockHeader header;
    header.cell = 3;
    header.phase = Phase::steady;
    header.batch = 8;
    header.t0_ns = 990;
    std::vector<std::byte> bytes;
    append_block(bytes, header, durations, begins);
    append_block(bytes, header, durations);
    return bytes;
}

TEST(Record, BlocksComeBack) {
    const std::vector<std::byte> bytes = two_blocks();
    EXPECT_EQ(bytes.size(), 128 + 48 + 128 + 24);
    EXPECT_EQ(std::memcmp(bytes.data(), "SPB1", 4), 0);
    std::span<const std::byte> rest = bytes;
    const auto first = take_block(rest), second = take_block(rest);
    EXPECT_TRUE(first && second && rest.empty());
    EXPECT_EQ(first->durations_ns, (std::vector<std::int64_t>{5, 6, 7}));
    EXPECT_EQ(first->starts_ns, (std::vector<std::int64_t>{10, 20, 30}));
    EXPECT_TRUE(first->header.columns == 3 && second->header.columns == 1 && second->starts_ns.empty());
    EXPECT_TRUE(first->header.batch == 8 && first->header.n == 3);
    EXPECT_FALSE(take_block(rest));
}

TEST(Record, DamageIsSeen) {
    for (std::size_t at = 0; at < two_blocks().size(); ++at) {
        std::vector<std::byte> bytes = two_blocks();
        bytes[at] ^= std::byte{0x10};
        std::span<const std::byte> rest = bytes;
        const bool first = take_block(rest).has_value();
        EXPECT_FALSE((first && take_block(rest)));
    }
    const std::vector<std::byte> whole = two_blocks();
    for (std::size_t length = 0; length < 128 + 48; ++length) {
        std::span<const std::byte> torn = std::span(whole).first(length);
        EXPECT_FALSE(take_block(torn));
    }
}

TEST(Record, JsonIsValidForAnyText) {
    EXPECT_EQ(json_text("a\"\\\n\x01\xff"), "\"a\\\"\\\\\\u000a\\u0001\\u00ff\"");
    JsonObject object;
    object.integer("i", -3).number("x", 0.1).number("nan", std::nan("")).boolean("b", true).null("n");
    EXPECT_EQ(object.str(), R"({"i": -3, "x": 0.1, "nan": null, "b": true, "n": null})");
    const std::vector<std::string> items{"1", "null"};
    EXPECT_EQ(json_array(items), "[1, null]");
}

TEST(Record, FilesOnlyGrow) {
    const std::string folder =
        std::filesystem::temp_directory_path() / ("slowpath-test-" + std::to_string(getpid()));
    {
        RecordWriter writer(folder + "/a/b");
        writer.event("note", 7, JsonObject().text("text", "x").fields());
        writer.event("bare", 8, "");
        writer.blocks(two_blocks());
        writer.sync();
    }
    std::ifstream file(folder + "/a/b/events.jsonl");
    std::stringstream content;
    content << file.rdbuf();
    EXPECT_EQ(content.str(),
              "{\"event\": \"note\", \"t_ns\": 7, \"text\": \"x\"}\n{\"event\": \"bare\", \"t_ns\": 8}\n");
    EXPECT_TRUE(contains(test::thrown<EnvironmentFailure>([&] { RecordWriter again(folder + "/a/b"); }),
                         "empty folder"));
    EXPECT_TRUE(contains(
        test::thrown<EnvironmentFailure>([&] { RecordWriter file_as_folder(folder + "/a/b/events.jsonl"); }),
        "can't make"));
    std::filesystem::remove_all(folder);
}

TEST(Record, AFullDiskIsOneClearLine) {
    if (access("/dev/full", W_OK) != 0) return;
    AppendFile full("/dev/full");
    EXPECT_TRUE(contains(test::thrown<EnvironmentFailure>([&] { full.append(bytes_of("x")); }),
                         "can't write /dev/full: No space"));
}

TEST(Record, PatternsDifferAndContinue) {
    std::array<std::byte, 40> whole, tail, inverted, other;
    fill_pattern(whole, 1, 0, false);
    fill_pattern(std::span(tail).first(19), 1, 16, false);
    EXPECT_EQ(std::memcmp(whole.data() + 16, tail.data(), 19), 0);
    fill_pattern(inverted, 1, 0, true);
    for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_EQ(inverted[i], ~whole[i]);
    fill_pattern(other, mix(1, 2), 0, false);
    EXPECT_NE(other, whole);
    EXPECT_NE(mix(1, 2), mix(2, 1));
}

TEST(Record, WitnessCountsFaults) {
    const Witness before = read_witness();
    std::vector<char> touched(1 << 22, 1);
    BlockHeader header;
    store_witness(header, before, read_witness());
    EXPECT_EQ(touched[4096], 1);
    EXPECT_NE((header.flags & block_flag::witness), 0);
    EXPECT_GT(header.minor_faults, 0);
    BlockHeader unmeasured;
    store_witness(unmeasured, Witness{}, read_witness());
    EXPECT_TRUE((unmeasured.flags & block_flag::witness) == 0 && unmeasured.minor_faults == 0);
}

TEST(Record, AddressesAreRemembered) {
    AddressBook book;
    EXPECT_FALSE(book.note(1000, 100));
    EXPECT_FALSE(book.note(1100, 100));
    EXPECT_TRUE(book.note(1199, 100));
    EXPECT_TRUE(book.note(1000, 0));
    EXPECT_FALSE(book.note(5000, 0));
    EXPECT_TRUE(book.note(0, 1 << 20));
}

TEST(Record, RanksAreToldNodeByNode) {
    const auto rank = [](const char* host, const char* pid, const char* allowed) {
        return RankValues{json_text(host), pid,      allowed, "1", "null", "10", "20", pid, "1",
                          "1e-09",         "\"tsc\""};
    };
    // Four ranks dealt out to two nodes in turns, a fifth on the first; one rank alone on a third.
    const std::vector ranks{rank("a", "5", "\"0-1\""), rank("b", "5", "\"0\""),   rank("a", "6", "\"0-1\""),
                            rank("b", "7", "\"1\""),   rank("a", "8", "\"0-1\""), rank("c", "9", "null")};
    for (const RankValues& one : ranks) EXPECT_EQ(unpacked(packed(one)), one);
    const std::string clock = "\"quantum_ns\": 10, \"overhead_ns\": 20, \"max_gap_ns\": ";
    const std::string rest = ", \"getres_ns\": 1, \"wtick_s\": 1e-09, \"source\": \"tsc\"}}";
    const std::string common = ", \"cpu\": 1, \"numa_node\": null, \"clock\": {" + clock;
    const std::string a =
        "{\"host\": \"a\", \"ranks\": \"0,2,4\", \"pid\": [5, 6, 8], \"cpus_allowed\": "
        "\"0-1\"" +
        common + "[5, 6, 8]" + rest;
    const std::string b =
        "{\"host\": \"b\", \"ranks\": \"1,3\", \"pid\": [5, 7], \"cpus_allowed\": "
        "[\"0\", \"1\"]" +
        common + "[5, 7]" + rest;
    const std::string c =
        "{\"host\": \"c\", \"ranks\": \"5\", \"pid\": [9], \"cpus_allowed\": null" + common + "9" + rest;
    EXPECT_EQ(node_ranks_json(ranks), "[" + a + ", " + b + ", " + c + "]");
    EXPECT_TRUE(contains(node_ranks_json(std::span(ranks).first(1)), "\"ranks\": \"0\""));
    EXPECT_EQ(node_ranks_json({}), "[]");
}

TEST(Record, TablesLookLikeOsu) {
    EXPECT_EQ(table_header({"Size", "Latency (us)"}), "# Size                    Latency (us)\n");
    EXPECT_EQ(table_row(8, {1.2345678}), "8                               1.2346\n");
    EXPECT_EQ(table_row(8, {std::nullopt}), "8                                    -\n");
    EXPECT_FALSE(median({}));
    EXPECT_EQ(median({3, 1, 2}), 2.0);
    EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
}

}  // namespace
