// SPDX-License-Identifier: Apache-2.0
/// What is read and recorded of collectives, with an MPI that does nothing: large counts, groups without a
/// common rank, calls that failed. Arrays end where a page begins that can't be read.
#include <gtest/gtest.h>

#include "watch/tests/fake_mpi.hpp"
#include "watch/tests/guarded.h"
#include "watch/tests/record_file.hpp"

using namespace slowpath::watch;
using fake_mpi::call;
using fake_mpi::comm_world;
using fake_mpi::type_char;
using fake_mpi::word;
using record_file::record_of;
using record_file::recorded;

namespace {

constexpr Word between = 0x84000001, root = static_cast<std::uint32_t>(-3),
               nobody = static_cast<std::uint32_t>(-1);
char data[64];

template <class Value>
Word array(std::initializer_list<Value> values) {
    auto* const all = static_cast<Value*>(guarded(values.size() * sizeof(Value)));
    std::copy(values.begin(), values.end(), all);
    return word(all);
}

Word unreadable() {
    return word(insignificant());
}

/// Bytes of the events that rank 1 records; it is one of two, and the other group has three.
std::vector<std::uint64_t> bytes_of(void (*calls)()) {
    const record_file::Record record = record_of([calls] {
        fake_mpi::world = {
            .rank = 1, .size = 5, .thread_level = 0, .communicators = {{between, {0, 1}, {2, 3, 4}}}};
        begin_record();
        calls();
        end_record();
    });
    std::vector<std::uint64_t> bytes;
    for (const layout::Event& event : record.events()) bytes.push_back(event.bytes);
    return bytes;
}

using Bytes = std::vector<std::uint64_t>;

}  // namespace

TEST(Collectives, LargeCountsAreAsManyAsTheOtherGroupHasRanks) {
    const Bytes bytes = bytes_of([] {
        constexpr std::int64_t large = std::int64_t{1} << 33;
        const Word counts = array<std::int64_t>({large, 1, 2}), places = unreadable();
        const Word types = array<std::uint32_t>({type_char, type_char, type_char});
        call(calls::MPI_Alltoallv_c,
             {word(data), counts, places, type_char, word(data), places, places, type_char, between});
        call(calls::MPI_Alltoallw_c,
             {word(data), counts, places, types, word(data), places, places, places, between});
        call(calls::MPI_Scatterv_c,
             {word(data), counts, places, type_char, places, 0, places, root, between});
        call(calls::MPI_Scatterv_c, {places, places, places, places, places, 77, places, nobody, between});
        call(calls::MPI_Reduce_scatter_c,  // by rank of the own group
             {word(data), word(data), array<std::int64_t>({large, 4}), type_char, 0, between});
    });
    constexpr std::uint64_t large = std::uint64_t{1} << 33;
    EXPECT_EQ(bytes, (Bytes{large + 3, large + 3, large + 3, 0, large + 4}));
}

/// The root's number is that of a rank of the other group: who has it in the own group is no root.
TEST(Collectives, ARankOfTheOtherGroupIsTheRoot) {
    const Bytes bytes = bytes_of([] {
        const Word none = unreadable();
        constexpr Word same_number_as_mine = 1;
        call(calls::MPI_Scatterv,
             {none, none, none, none, word(data), 5, type_char, same_number_as_mine, between});
        call(calls::MPI_Gatherv,
             {word(data), 6, type_char, none, none, none, none, same_number_as_mine, between});
        call(calls::MPI_Gatherv, {none, none, none, word(data), none, none, type_char, root, between});
        call(calls::MPI_Scatter, {word(data), 7, type_char, none, none, none, root, between});
    });
    EXPECT_EQ(bytes, (Bytes{5, 6, 0, 21}));
}

TEST(Collectives, ADatatypeOfNothingIsNotLookedAt) {
    const Bytes bytes = bytes_of([] {
        const Word counts = array<int>({0, 3, 0, 0, 0}), none = unreadable();
        const Word types = array<std::uint32_t>({0xdead, type_char, 0xdead, 0xdead, 0xdead});
        call(calls::MPI_Alltoallw, {word(data), counts, none, types, none, none, none, none, comm_world});
    });
    EXPECT_EQ(bytes, (Bytes{3}));
}

TEST(Collectives, TheShareOfTheRankItselfIsInTheTag) {
    const record_file::Record record = record_of([] {
        fake_mpi::world = {.rank = 1, .size = 3, .thread_level = 0, .communicators = {}};
        begin_record();
        const Word counts = array<int>({1, 2, 1}), none = unreadable();
        call(calls::MPI_Alltoallv,
             {word(data), counts, none, type_char, none, none, none, type_char, comm_world});
        call(calls::MPI_Alltoallv,
             {~Word{0}, none, none, none, word(data), counts, none, type_char, comm_world});
        end_record();
    });
    ASSERT_EQ(record.events().size(), 2U);
    EXPECT_EQ(record.events()[0].tag, 500);
    EXPECT_EQ(record.events()[1].tag, -1) << "in place";
}

/// Whatever MPI refused is not looked at; that the call was made is recorded.
TEST(Collectives, ACallThatFailedIsCountedAndNotRead) {
    const record_file::Record record = recorded([] {
        const Word none = unreadable();
        Word arguments[most_arguments] = {none, none, none, none, none, none, none, none, 0x12345};
        Observed seen{calls::MPI_Alltoallw, arguments, data, data};
        Scratch* const scratch = before(seen);
        seen.error = 13;
        after(seen, scratch);
    });
    ASSERT_EQ(record.events().size(), 1U);
    EXPECT_EQ(record.events()[0].communicator, layout::no_row);
    EXPECT_EQ(record.rows<layout::Communicator>(layout::Is::communicators).size(), 2U) << "world and self";
}
