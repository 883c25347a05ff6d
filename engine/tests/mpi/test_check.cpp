// SPDX-License-Identifier: Apache-2.0
// The judge of a cell: what it refuses, of which job, and what it knows of the others. No MPI is started.
#include <gtest/gtest.h>

#include <algorithm>

#include "catalogue/check.hpp"
#include "catalogue/registry.hpp"
#include "core/parameters.hpp"
#include "mockups/mockups.hpp"
#include "put/parameters.hpp"
#include "tests/text.hpp"

using namespace slowpath;
using test::contains;

namespace {

CheckedPlan checked(const std::string& cells, std::optional<int> ranks = std::nullopt) {
    return check_cells(parse_plan("slowpath-plan 1\n" + cells), ranks);
}

bool refused(const std::string& cell, const std::string& because, std::optional<int> ranks = std::nullopt) {
    const CheckedPlan found = checked("cell 7 " + cell + "\n", ranks);
    return !found.all_valid && found.lines.starts_with("{\"cell\": 7, \"reason\": \"") &&
           contains(found.lines, because);
}

bool accepted(const std::string& cell, const std::string& fact, std::optional<int> ranks = std::nullopt) {
    const CheckedPlan found = checked("cell 7 " + cell + "\n", ranks);
    return found.all_valid && found.lines.starts_with("{\"cell\": 7, \"metrics\": [") &&
           contains(found.lines, fact);
}

TEST(Check, EachCellHasItsLine) {
    const CheckedPlan found = checked("cell 2 p2p\ncell 0 nothing\ncell 1 p2p samples=0\ncell 5 cannon\n");
    EXPECT_FALSE(found.all_valid);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < found.lines.size(); at = found.lines.find('\n', at) + 1)
        lines.push_back(found.lines.substr(at, found.lines.find('\n', at) - at));
    EXPECT_EQ(lines.size(), 4);
    EXPECT_TRUE(lines[0].starts_with("{\"cell\": 2, \"metrics\": [\"half_round_trip_latency_s\"]"));
    EXPECT_TRUE(contains(lines[1], "unknown experiment"));
    EXPECT_TRUE(contains(lines[2], "smallest value is 1"));
    EXPECT_TRUE(lines[3].starts_with("{\"cell\": 5, \"metrics\": "));
}

TEST(Check, P2pCellsAreRefused) {
    EXPECT_TRUE(refused("p2p pattern=ping_pong posted=before", "pattern=one_way"));
    EXPECT_TRUE(refused("p2p pattern=one_way posted=after synchronise=inside", "leave one out"));
    EXPECT_TRUE(refused("p2p pattern=one_way queue=1", "which queue"));
    EXPECT_TRUE(refused("p2p pattern=windowed pack=mpi_pack", "pack=mpi_pack is for"));
    EXPECT_TRUE(refused("p2p pattern=overlap pack=loop", "pack=loop is for"));
    EXPECT_TRUE(refused("p2p memory=host:device pack=loop", "memory that a processor reads"));
    EXPECT_TRUE(refused("p2p pack=mpi_pack message_bytes=1GiB", "pack=mpi_pack takes"));
    EXPECT_TRUE(refused("p2p datatype=vector message_bytes=1GiB", "take datatype=contiguous"));
    EXPECT_TRUE(refused("p2p datatype=vector message_bytes=10 blocks=3", "no multiple of blocks 3"));
    EXPECT_TRUE(
        refused("p2p datatype=vector message_bytes=8 blocks=3 block_bytes=4", "leave one of them out"));
    EXPECT_TRUE(refused("p2p progress=test", "pattern=overlap"));
    EXPECT_TRUE(refused("p2p buffer_bytes=64 offset_bytes=60", "leaves the buffer"));
    EXPECT_TRUE(refused("p2p buffer_bytes=9223372036854775807 overalloc_bytes=1", "2^63-1"));
    EXPECT_TRUE(refused("p2p memory=mpi pages=huge", "pages=huge is not for memory=mpi"));
    EXPECT_TRUE(refused("p2p memory=pinned_registered pages=shared", "pages=shared is not for"));
    EXPECT_TRUE(refused("p2p messages=100000000 live_buffers=2", "take fewer"));
    EXPECT_TRUE(refused("p2p idle_s=0.1", "idle_s and cache are for pattern=one_way"));
    EXPECT_TRUE(refused("p2p pattern=one_way posted=before cache=cold", "idle_s and cache are for"));
    EXPECT_TRUE(refused("p2p pattern=one_way cache=as_is:warm touch=write:none", "leave one out"));
    EXPECT_TRUE(refused("p2p pattern=one_way cache=cold memory=device:host", "not for memory=device"));
    EXPECT_TRUE(refused("p2p other_bytes=8", "other_bytes is for pattern=one_way"));
    EXPECT_TRUE(refused("p2p pattern=one_way datatype=vector message_bytes=64 blocks=2 other_bytes=8",
                        "other_bytes is for"));
    EXPECT_TRUE(refused("p2p pattern=windowed direction=reverse", "leave direction out"));
}

TEST(Check, TheJobIsJudgedOnlyWhereItIsKnown) {
    EXPECT_TRUE(accepted("p2p pattern=windowed pairs=2", ""));
    EXPECT_TRUE(refused("p2p pattern=windowed pairs=2", "pairs=2 needs 4 ranks, the job has 3", 3));
    EXPECT_TRUE(accepted("p2p pattern=windowed pairs=2 peer=9", "", 4));
    EXPECT_TRUE(refused("p2p peer=2", "peer=2 needs 3 ranks, the job has 2", 2));
    EXPECT_TRUE(refused("p2p", "p2p needs 2 ranks, the job has 1", 1));
    EXPECT_TRUE(accepted("cannon n=10", "[\"multiply_s\""));
    EXPECT_TRUE(refused("cannon n=10", "take n=9", 3));
    EXPECT_TRUE(accepted("cannon n=10 grid=ring", "\"rows\": 1, \"columns\": 5, \"steps\": 5", 5));
}

TEST(Check, PutAndCannonCellsAreRefused) {
    EXPECT_TRUE(refused("put message_bytes=12", "no multiple of 8"));
    EXPECT_TRUE(refused("put message_bytes=1TiB", "take datatype=large_count"));
    EXPECT_TRUE(refused("put operation=rput synchronise=fence", "passive target"));
    EXPECT_TRUE(refused("put operation=accumulate datatype=contiguous", "one basic type"));
    EXPECT_TRUE(refused("put operation=fetch_and_op message_bytes=16", "one element"));
    EXPECT_TRUE(refused("put window_info=no_locks", "take synchronise=fence or pscw"));
    EXPECT_TRUE(refused("put design=store datatype=vector", "take datatype=predefined"));
    EXPECT_TRUE(refused("put design=openshmem_put datatype=vector", "take datatype=predefined"));
    EXPECT_TRUE(refused("cannon numbers=integer n=65537", "take numbers=real"));
    EXPECT_TRUE(refused("cannon skew=moved source=root", "source=in_place"));
    EXPECT_TRUE(accepted("cannon variant=shared_copy", ""));
}

TEST(Check, MetricsAreThoseThatTheCellYields) {
    EXPECT_TRUE(accepted("p2p pattern=one_way", "\"metrics\": [\"one_way_s\", \"send_s\", \"receive_s\"]"));
    EXPECT_TRUE(accepted("p2p pattern=one_way synchronise=inside", "\"metrics\": [\"send_barrier_s\"]"));
    EXPECT_TRUE(accepted("p2p pattern=one_way posted=after", "\"metrics\": [\"receive_s\"]"));
    EXPECT_TRUE(accepted("p2p synchronise=inside", "\"metrics\": [\"half_round_trip_latency_s\"]"));
    EXPECT_TRUE(accepted("put", "instructions_per_put"));
    EXPECT_FALSE(contains(checked("cell 0 put instructions=0\n").lines, "instructions_per"));
}

TEST(Check, MemoryIsDerived) {
    EXPECT_TRUE(accepted(
        "p2p pattern=windowed message_bytes=100 in_flight=4",
        "\"blocks\": 1, \"extent_bytes\": 100, \"span_bytes\": [100, 484], \"buffer_bytes\": [100, 484]"));
    EXPECT_TRUE(accepted("p2p datatype=vector message_bytes=32 block_bytes=8",
                         "\"blocks\": 4, \"extent_bytes\": 56"));
    EXPECT_TRUE(
        accepted("p2p buffer_bytes=64:message message_bytes=8 overalloc_bytes=0:5 live_buffers=3",
                 "\"buffer_bytes\": [64, 8], \"allocation_bytes\": [64, 13], \"held_bytes\": [384, 78]"));
    EXPECT_TRUE(accepted("p2p buffer_bytes=9223372036854775807", "\"held_bytes\": [9223372036854775807, "));
    EXPECT_TRUE(
        accepted("p2p pattern=one_way message_bytes=8 other_bytes=100 overalloc_bytes=1 offset_bytes=1:0",
                 "\"span_bytes\": [100, 100], \"buffer_bytes\": [100, 100]"));
    EXPECT_TRUE(accepted("put message_bytes=64",
                         "\"slots\": 64, \"slot_bytes\": 64, \"buffer_bytes\": [4160, 4160]"));
}

std::vector<std::string_view> choices(std::string_view experiment, std::string_view parameter) {
    return find_parameter(find_experiment(experiment).parameters(), parameter).choices;
}

TEST(Check, WordsOfTheTablesAreThoseOfTheCode) {
    for (const std::string_view word : choices("coll", "collective"))
        EXPECT_TRUE(mockups::collective_named(word)) << word;
    const auto ways = choices("coll", "way");
    for (const mockups::Mockup& mockup : mockups::mockups())
        EXPECT_TRUE(std::find(ways.begin(), ways.end(), mockup.name) != ways.end()) << mockup.name;
    for (const std::string_view word : choices("put", "window_info"))
        EXPECT_EQ(put::find_window_info(word).name, word);
}

}  // namespace
