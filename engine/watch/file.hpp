// SPDX-License-Identifier: Apache-2.0
/// The file of a process: mapped, of fixed length, with room on the disk behind each of its pages.
#pragma once

#include <atomic>
#include <cstdint>

#include "watch/layout.hpp"

namespace slowpath::watch {

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
