// SPDX-License-Identifier: Apache-2.0
/// Where the elements of an MPI datatype lie, and moving them on one rank. No step relies on what another
/// rank passes: its datatype may be another one of the same signature.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "mockups/workspace.hpp"

namespace slowpath::mockups {

int rank_in(MPI_Comm communicator);
int size_of(MPI_Comm communicator);
/// Bytes of data of one element; 0 for a datatype that is none.
std::int64_t element_bytes(MPI_Datatype type);

/// The datatype's elements follow one another without gaps, and its signature is their order in memory: a
/// predefined type of that kind. Anything else may be, and is packed where bytes are wanted.
bool is_plain(MPI_Datatype type);

/// The same, but in any order: all bytes of its elements are data.
bool is_dense(MPI_Datatype type);

/// Datatypes that most calls are made of, and that nobody can free.
std::span<const MPI_Datatype> basic_types();
bool is_basic(MPI_Datatype type);

/// Messages can be made of it: a predefined datatype, or one that is committed.  Safe for any handle: other
/// questions about one that is none go to the error handler of MPI_COMM_WORLD or MPI_COMM_SELF, and end most
/// programs.
bool is_usable(MPI_Datatype type);

/// The place of element `index`.
std::byte* element(void* begin, std::int64_t index, MPI_Datatype type);
const std::byte* element(const void* begin, std::int64_t index, MPI_Datatype type);

/// Scratch memory for `count` elements, as a buffer to pass with `type`: the datatype's lower bound is
/// accounted for.  Its bytes are those of the last use.
void* room_for(Workspace& workspace, Scratch use, std::int64_t count, MPI_Datatype type);

/// One rank's elements as a block, for scratch memory that holds a block of each rank. Where elements lie
/// among each other, as the columns of a matrix do, blocks placed by the datatype's extent would overlap
/// (MPI-4.1 section 6.5 forbids that in a receive buffer): they are of a derived datatype then, of the same
/// signature.
class Block {
  public:
    /// @throws std::bad_alloc: the library makes no such datatype; its error handler is not called.
    Block(int count, MPI_Datatype type);
    Block(const Block&) = delete;
    Block& operator=(const Block&) = delete;
    ~Block();
    /// What to pass for so many blocks.
    int count(int blocks = 1) const { return blocks * count_; }
    MPI_Datatype type() const { return type_; }
    /// Scratch memory for so many.
    void* room(Workspace& workspace, Scratch use, int blocks) const {
        return room_for(workspace, use, std::int64_t{count_} * blocks, type_);
    }
    /// The first element of a block.
    std::byte* at(void* begin, int block) const {
        return element(begin, std::int64_t{block} * count_, type_);
    }

  private:
    int count_;
    MPI_Datatype type_;
    bool is_made_ = false;
};

/// Copies elements on this rank; between different datatypes too. Gaps are left as they are.
int copy(Workspace& workspace, const void* from, int count, MPI_Datatype type, void* to, int to_count,
         MPI_Datatype to_type);
inline int copy(Workspace& workspace, const void* from, void* to, int count, MPI_Datatype type) {
    return copy(workspace, from, count, type, to, count, type);
}

/// A message as bytes in the order of its signature: the buffer itself where the datatype is plain, else
/// memory of the workspace.
class Flat {
  public:
    Flat(Workspace& workspace, Scratch use, void* buffer, int count, MPI_Datatype type);
    std::byte* data() const { return data_; }
    int bytes() const { return bytes_; }
    /// From the buffer into the bytes, and back; nothing where they are the same memory.
    int load();
    int store();

  private:
    Workspace* workspace_;
    void* buffer_;
    int count_;
    MPI_Datatype type_;
    int bytes_;
    bool is_buffer_;
    std::byte* data_;
};

}  // namespace slowpath::mockups
