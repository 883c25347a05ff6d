// SPDX-License-Identifier: Apache-2.0
/// A datatype's layout, as MPI tells how it was made.
///
/// What MPI says of how a datatype was made, whatever the interface.
///
/// Datatypes, flattened once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "watch/call.hpp"
#include "watch/flat.hpp"

namespace slowpath::watch {

struct TypeLayout {
    Flat flat;
    std::int64_t bytes = 0;  ///< -1: MPI gave no answer
    std::int64_t extent_bytes = 0;
    bool is_named = false;  ///< predefined: its handle is never freed
};

/// Calls MPI_Type_get_envelope and _contents, of its parts too. A list of more than 2^20 numbers is not read.
TypeLayout layout_of(Word handle);

enum class Combiner : std::uint8_t {
    named,
    dup,
    contiguous,
    vector,
    hvector,
    indexed,
    hindexed,
    indexed_block,
    hindexed_block,
    structure,
    subarray,
    darray,
    resized,
    other,
};

/// MPI_Type_size, _get_extent and _get_true_extent; -1: no answer.
struct TypeFacts {
    std::int64_t bytes = -1;
    std::int64_t extent_bytes = 0;
    std::int64_t true_begin = 0;
    std::int64_t true_bytes = -1;
};
TypeFacts facts_of(Word handle);

/// Envelope and contents of one type. The handles of its parts are freed with it.
class Contents {
  public:
    explicit Contents(Word handle);
    ~Contents();
    Contents(const Contents&) = delete;
    Contents& operator=(const Contents&) = delete;

    Combiner combiner() const { return combiner_; }
    /// MPI's own: it has no contents.
    bool is_predefined() const { return is_predefined_; }

    /// To be called before what follows.  @return false: too many numbers, or MPI gave none.
    bool read();

    /// The i-th of the constructor's numbers in the order of its arguments, whether it was the one with large
    /// counts or not.
    std::int64_t number(std::uint64_t i) const {
        if (large_count_ != 0) return large_[i];
        return i < plain_count_ ? plain_[i] : addresses_[i - plain_count_];
    }
    std::uint64_t numbers() const { return large_count_ != 0 ? large_count_ : plain_count_ + address_count_; }
    Word type(std::uint64_t i) const;

    /// Of arrays: an int argument, and the i-th of sizes, subsizes and starts.
    std::int64_t plain(std::uint64_t i) const { return plain_[i]; }
    std::int64_t last_plain() const { return plain_[plain_count_ - 1]; }
    std::int64_t long_number(std::uint64_t i) const { return large_count_ != 0 ? large_[i] : plain_[1 + i]; }
    bool is_fortran_order(std::int64_t order) const;

  private:
    bool make_room();
    bool is_complete() const;

    Word handle_;
    Combiner combiner_ = Combiner::other;
    bool is_predefined_ = false;
    bool has_envelope_ = false;
    bool is_read_ = false;
    std::uint64_t plain_count_ = 0, address_count_ = 0, large_count_ = 0, type_count_ = 0;
    int* plain_ = nullptr;
    std::int64_t* addresses_ = nullptr;
    std::int64_t* large_ = nullptr;
    void* types_ = nullptr;
    char* room_ = nullptr;  ///< of the kernel, where the small one does not do
    std::size_t room_bytes_ = 0;
    alignas(8) char small_room_[256];  ///< types of types have one each on a stack that may be short
};

inline constexpr std::uint16_t contiguous = 0xffff;

struct DatatypeView {
    std::uint16_t row = contiguous;  ///< of the section datatypes
    std::uint64_t bytes = 1;         ///< of one element
    std::int64_t extent_bytes = 1;
    bool has_gaps = false;
};

/// A hash look-up where the handle is known; MPI_Type_get_envelope and _contents where not. Makes rows of the
/// section datatypes: types of one layout share one.
DatatypeView view_datatype(Word handle);
/// The handle may be given to another type from now on.
void datatype_freed(Word handle);

}  // namespace slowpath::watch
