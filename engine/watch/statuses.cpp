// SPDX-License-Identifier: Apache-2.0
#include "watch/statuses.hpp"

#include <cstring>

#include "watch/library.hpp"

namespace slowpath::watch {
namespace {

template <typename Value>
Value read_at(const void* status, std::size_t offset) {
    Value value;
    std::memcpy(&value, static_cast<const char*>(status) + offset, sizeof value);
    return value;
}

/// The ABI leaves the rest of a status to the library: it is asked.
void ask(const void* status, Arrival& arrival) {
    static void* const get_count = function("Get_count_c");
    static void* const test_cancelled = function("Test_cancelled");
    constexpr Word byte = 0x247;  // MPI_BYTE of the ABI
    std::int64_t count = 0;
    int cancelled = 0;
    const Word words = reinterpret_cast<Word>(status);
    if (get_count != nullptr && call(get_count, words, byte, reinterpret_cast<Word>(&count)) == 0 &&
        count > 0)
        arrival.bytes = static_cast<std::uint64_t>(count);
    if (test_cancelled != nullptr && call(test_cancelled, words, reinterpret_cast<Word>(&cancelled)) == 0)
        arrival.is_cancelled = cancelled != 0;
}

}  // namespace

Arrival read_status(const void* status) {
    const Library& mpi = library();
    if (status == nullptr) return {mpi.any_source, mpi.any_tag, 0, false};
    Arrival arrival{read_at<std::int32_t>(status, mpi.source_offset),
                    read_at<std::int32_t>(status, mpi.tag_offset), 0, false};
    if (mpi.interface == Interface::mpich) {
        // mpi.h: count_lo, then count_hi above one bit that says cancelled.
        const auto low = read_at<std::uint32_t>(status, 0), high = read_at<std::uint32_t>(status, 4);
        arrival.bytes = static_cast<std::uint64_t>(high >> 1) << 32 | low;
        arrival.is_cancelled = (high & 1) != 0;
    } else if (mpi.interface == Interface::openmpi) {
        // mpi.h: _cancelled and _ucount behind the three public fields.
        arrival.is_cancelled = read_at<std::int32_t>(status, 12) != 0;
        arrival.bytes = read_at<std::uint64_t>(status, 16);
    } else {
        ask(status, arrival);
    }
    return arrival;
}

}  // namespace slowpath::watch
