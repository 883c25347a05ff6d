// SPDX-License-Identifier: Apache-2.0
/// What mock-ups are tried with: datatypes, ops, and buffers that show what was written where.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <string>
#include <vector>

namespace slowpath::mockups::tests {

/// A datatype on this rank: one of another signature-equal form may stand on the next rank.
struct Kind {
    std::string name;
    MPI_Datatype type;
    int per_element;   ///< elements of the datatype for one element of the case
    bool has_padding;  ///< bytes that belong to the type's members and that a library may write
    std::vector<MPI_Op> ops;
};

/// Datatypes for this rank; those whose name begins with "mixed" are not the same on all ranks.
std::vector<Kind> kinds(int rank);

/// `elements` elements between guards, filled with what depends on rank, place and kind.
class Buffer {
  public:
    Buffer(const Kind& kind, int elements, int seed);
    void* data() { return bytes_.data() + guard; }
    /// The data as it would be sent.
    std::vector<std::byte> packed() const;
    /// What lies between and around the data: equal for two buffers that began alike unless somebody wrote
    /// there.
    std::vector<std::byte> rest() const;

  private:
    static constexpr std::size_t guard = 64;
    const Kind* kind_;
    int elements_;
    std::vector<std::byte> bytes_;
};

}  // namespace slowpath::mockups::tests
