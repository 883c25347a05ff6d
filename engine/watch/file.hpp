// SPDX-License-Identifier: Apache-2.0
/// How the bytes of the file are shared out.
///
/// The file of a process: mapped, of fixed length, with room on the disk behind each of its pages.
#pragma once

#include <atomic>
#include <cstdint>

#include "watch/layout.hpp"

namespace slowpath::watch {

/// Long enough to hold whole iterations of most programs, and both sides of most waits: a message that is
/// sent in a window that was dropped explains nothing. Short enough that the room holds one of the busiest
/// programs' (schema/watch.json, events).
inline constexpr std::uint64_t window_ns = 20'000'000;

/// Lanes of a program whose threads may all call MPI; the last one is for all threads beyond.
inline constexpr std::uint32_t most_room_lanes = 8;

/// Of what the thread that started MPI does (sampler.hpp).
inline constexpr std::uint32_t most_samples = 3072, most_addresses = 3072;

struct Room {
    std::uint64_t offset = 0;
    std::uint32_t capacity = 0;
};

struct Rooms {
    std::uint64_t file_bytes = 0;
    Room lanes, calls, sites, communicators, members, datatypes, allocations, text, current, samples,
        addresses;
    std::uint32_t lane_count = 0;
    Room profiles[most_room_lanes];
    Room events[most_room_lanes];
};

/// @param is_single One thread calls MPI: it has nearly all, and one small lane is for a thread that calls
/// nevertheless.
constexpr Rooms share_rooms(std::uint32_t call_total, bool is_single) {
    struct Lanes {
        std::uint32_t count, first_profiles, first_events, more_profiles, more_events;
    };
    const Lanes lanes =
        is_single ? Lanes{2, 4096, 74 * 1024, 256, 1024} : Lanes{most_room_lanes, 2048, 20 * 1024, 768, 6144};
    Rooms rooms;
    std::uint64_t end = layout::header_bytes;
    const auto take = [&end](std::uint32_t capacity, std::uint64_t element_bytes) {
        constexpr std::uint64_t page = 4096;
        const Room room{end, capacity};
        end = (end + capacity * element_bytes + page - 1) / page * page;
        return room;
    };
    rooms.lanes = take(lanes.count, sizeof(layout::Lane));
    rooms.calls = take(call_total, sizeof(layout::CallRow));
    rooms.sites = take(4096, sizeof(layout::Site));
    rooms.communicators = take(2048, sizeof(layout::Communicator));
    rooms.members = take(64 * 1024, sizeof(layout::Member));
    rooms.datatypes = take(2048, sizeof(layout::Datatype));
    rooms.allocations = take(8192, sizeof(layout::Allocation));
    rooms.text = take(256 * 1024, sizeof(layout::Text));
    rooms.current = take(lanes.count, sizeof(layout::Current));
    rooms.samples = take(most_samples, sizeof(layout::Sample));
    rooms.addresses = take(most_addresses, sizeof(layout::Address));
    rooms.lane_count = lanes.count;
    for (std::uint32_t lane = 0; lane < lanes.count; ++lane) {
        rooms.profiles[lane] =
            take(lane == 0 ? lanes.first_profiles : lanes.more_profiles, sizeof(layout::Profile));
        rooms.events[lane] = take(lane == 0 ? lanes.first_events : lanes.more_events, sizeof(layout::Event));
    }
    rooms.file_bytes = end;
    return rooms;
}
static_assert(share_rooms(1024, true).file_bytes <= layout::most_bytes);
static_assert(share_rooms(1024, false).file_bytes <= layout::most_bytes);

/// Rows of one kind in the file. Empty until the record is open, and for good where there was no room.
/// Adding is the caller's to serialise. How many there are is not read back from the file: what it holds may
/// be zeros from one moment to the next (guard.hpp), and no place is found by what is read there.
template <typename Row>
class Section {
  public:
    Section() = default;
    Section(Row* rows, layout::SectionRow* table) : rows_(rows), table_(table), capacity_(table->capacity) {}

    std::uint32_t capacity() const { return capacity_; }
    std::uint32_t used() const { return used_; }
    Row& operator[](std::uint32_t row) { return rows_[row]; }

    /// The next row, zero, to be filled and then published; nullptr: full, which is counted.
    Row* next() {
        if (used() == capacity_) {
            lose(1);
            return nullptr;
        }
        return &rows_[used_];
    }
    /// @return Its number.
    std::uint32_t publish(std::uint32_t rows = 1) {
        const std::uint32_t row = used_;
        shrink(row + rows);
        return row;
    }
    void lose(std::uint32_t rows) {
        if (table_ != nullptr) table_->lost += rows;
    }
    /// Forget rows from this one on.
    void shrink(std::uint32_t rows) {
        used_ = rows;
        std::atomic_ref(table_->used).store(rows, std::memory_order_release);
    }

  private:
    Row* rows_ = nullptr;
    layout::SectionRow* table_ = nullptr;
    std::uint32_t capacity_ = 0;
    std::uint32_t used_ = 0;
};

/// What all threads share.
struct Sections {
    Section<layout::Lane> lanes;
    Section<layout::CallRow> calls;
    Section<layout::Site> sites;
    Section<layout::Communicator> communicators;
    Section<layout::Member> members;
    Section<layout::Datatype> datatypes;
    Section<layout::Allocation> allocations;
    Section<layout::Text> text;
    Section<layout::Current> current;
    Section<layout::Sample> samples;
    Section<layout::Address> addresses;
};

Sections& sections();

/// The file has room and is mapped. False in a child made by fork, whose copy of the mapping is its own.
bool has_file();

/// Make the file in the folder $SLOWPATH_WATCH.
/// @param is_single Only one thread can call MPI: its lane gets the room of all.
void open_file(bool is_single);

/// A start of MPI is about to be called: HOST-PID.begun is in the folder until it returns well. One that
/// stays tells a program that failed in it from one that never came so far; it holds the error, where there
/// is one.
void note_start_begun();
void note_start_over(int error);

/// Room of a lane, taken when its thread first calls.
struct LaneRoom {
    Section<layout::Profile> profile;
    Section<layout::Event> events;
};
/// @param lane 0 ... most_lanes() - 1, each once.
LaneRoom take_lane_room(std::uint32_t lane);
std::uint32_t most_lanes();

/// Keep the program running where its file is truncated, until unguard_record().
void guard_file();

/// Header of the file, to be written once has_file().
layout::Header& header();
void set_state(layout::State state);
/// Write the second anchor.
void renew_anchor();

/// A line of the section text, whole or not at all: KEY<tab>VALUE.
void write_text(const char* key, const char* value);

}  // namespace slowpath::watch
