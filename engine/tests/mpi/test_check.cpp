// SPDX-License-Identifier: Apache-2.0
// The judge of a cell: what it refuses, of which job, and what it knows of the others. No MPI is started.
#include "catalogue/check.hpp"
#include "core/plan.hpp"
#include "tests/check.hpp"

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

void each_cell_has_its_line() {
    const CheckedPlan found = checked("cell 2 p2p\ncell 0 nothing\ncell 1 p2p samples=0\ncell 5 cannon\n");
    CHECK(!found.all_valid);
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < found.lines.size(); at = found.lines.find('\n', at) + 1)
        lines.push_back(found.lines.substr(at, found.lines.find('\n', at) - at));
    CHECK(lines.size() == 4);
    CHECK(lines[0].starts_with("{\"cell\": 2, \"metrics\": [\"half_round_trip_latency_s\"]"));
    CHECK(contains(lines[1], "unknown experiment"));
    CHECK(contains(lines[2], "smallest value is 1"));
    CHECK(lines[3].starts_with("{\"cell\": 5, \"metrics\": "));
}

void p2p_cells_are_refused() {
    CHECK(refused("p2p pattern=ping_pong posted=before", "pattern=one_way"));
    CHECK(refused("p2p pattern=one_way posted=after synchronise=inside", "leave one out"));
    CHECK(refused("p2p pattern=one_way queue=1", "which queue"));
    CHECK(refused("p2p pattern=windowed pack=mpi_pack", "pack=mpi_pack is for"));
    CHECK(refused("p2p pack=mpi_pack message_bytes=1GiB", "pack=mpi_pack takes"));
    CHECK(refused("p2p datatype=vector message_bytes=1GiB", "take datatype=contiguous"));
    CHECK(refused("p2p datatype=vector message_bytes=10 blocks=3", "no multiple of blocks 3"));
    CHECK(refused("p2p datatype=vector message_bytes=8 blocks=3 block_bytes=4", "leave one of them out"));
    CHECK(refused("p2p progress=test", "pattern=overlap"));
    CHECK(refused("p2p buffer_bytes=64 offset_bytes=60", "leaves the buffer"));
    CHECK(refused("p2p buffer_bytes=9223372036854775807 overalloc_bytes=1", "2^63-1"));
    CHECK(refused("p2p memory=mpi pages=huge", "pages=huge is not for memory=mpi"));
    CHECK(refused("p2p memory=pinned_registered pages=shared", "pages=shared is not for"));
    CHECK(refused("p2p messages=100000000 live_buffers=2", "take fewer"));
}

void the_job_is_judged_only_where_it_is_known() {
    CHECK(accepted("p2p pattern=windowed pairs=2", ""));
    CHECK(refused("p2p pattern=windowed pairs=2", "pairs=2 needs 4 ranks, the job has 3", 3));
    CHECK(accepted("p2p pattern=windowed pairs=2 peer=9", "", 4));
    CHECK(refused("p2p peer=2", "peer=2 needs 3 ranks, the job has 2", 2));
    CHECK(refused("p2p", "p2p needs 2 ranks, the job has 1", 1));
    CHECK(accepted("cannon n=10", "[\"multiply_s\""));
    CHECK(refused("cannon n=10", "take n=9", 3));
    CHECK(accepted("cannon n=10 grid=ring", "\"rows\": 1, \"columns\": 5, \"steps\": 5", 5));
}

void put_and_cannon_cells_are_refused() {
    CHECK(refused("put message_bytes=12", "no multiple of 8"));
    CHECK(refused("put message_bytes=1TiB", "take datatype=large_count"));
    CHECK(refused("put rung=1", "leave them out"));
    CHECK(refused("put operation=rput synchronise=fence", "passive target"));
    CHECK(refused("put operation=accumulate datatype=contiguous", "one basic type"));
    CHECK(refused("put operation=fetch_and_op message_bytes=16", "one element"));
    CHECK(refused("put window_info=no_locks", "take synchronise=fence or pscw"));
    CHECK(refused("put design=store datatype=vector", "take datatype=predefined"));
    CHECK(refused("put design=openshmem_put datatype=vector", "take datatype=predefined"));
    CHECK(refused("put design=ladder rung=6 datatype=vector", "take datatype=predefined"));
    CHECK(accepted("put design=ladder rung=7 datatype=vector", ""));
    CHECK(refused("cannon numbers=integer n=65537", "take numbers=real"));
    CHECK(refused("cannon numbers=bfloat16", "memory=device"));
    CHECK(refused("cannon memory=device skew=moved", "skew=in_place"));
    CHECK(refused("cannon skew=moved source=root", "source=in_place"));
    CHECK(refused("cannon memory=device variant=pscw", "no form for memory=device"));
    CHECK(accepted("cannon memory=device variant=shared_copy", ""));
}

void metrics_are_those_that_the_cell_yields() {
    CHECK(accepted("p2p pattern=one_way", "\"metrics\": [\"one_way_s\", \"send_s\", \"receive_s\"]"));
    CHECK(accepted("p2p pattern=one_way synchronise=inside", "\"metrics\": [\"send_barrier_s\"]"));
    CHECK(accepted("p2p pattern=one_way posted=after", "\"metrics\": [\"receive_s\"]"));
    CHECK(accepted("p2p synchronise=inside", "\"metrics\": [\"half_round_trip_latency_s\"]"));
    CHECK(accepted("put", "instructions_per_put"));
    CHECK(!contains(checked("cell 0 put instructions=0\n").lines, "instructions_per"));
}

void memory_is_derived() {
    CHECK(accepted(
        "p2p pattern=windowed message_bytes=100 in_flight=4",
        "\"blocks\": 1, \"extent_bytes\": 100, \"span_bytes\": [100, 484], \"buffer_bytes\": [100, 484]"));
    CHECK(accepted("p2p datatype=vector message_bytes=32 block_bytes=8",
                   "\"blocks\": 4, \"extent_bytes\": 56"));
    CHECK(accepted("p2p buffer_bytes=64:message message_bytes=8 overalloc_bytes=0:5 live_buffers=3",
                   "\"buffer_bytes\": [64, 8], \"allocation_bytes\": [64, 13], \"held_bytes\": [384, 78]"));
    CHECK(accepted("p2p buffer_bytes=9223372036854775807", "\"held_bytes\": [9223372036854775807, "));
    CHECK(accepted("put message_bytes=64",
                   "\"slots\": 64, \"slot_bytes\": 64, \"buffer_bytes\": [4160, 4160]"));
}

}  // namespace

int main() {
    each_cell_has_its_line();
    p2p_cells_are_refused();
    the_job_is_judged_only_where_it_is_known();
    put_and_cannon_cells_are_refused();
    metrics_are_those_that_the_cell_yields();
    memory_is_derived();
    return test::result();
}
