// SPDX-License-Identifier: Apache-2.0
/// What mock-ups know of a communicator, kept as an attribute of it, and the memory of a thread.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

/// Buffers of one call that must not be the same memory.
enum class Scratch : std::uint8_t { input, output, copy, lengths };

/// Frees this thread's scratch memory where it is long: a program's own memory may need the room.
void release_long_memory();

class Workspace {
  public:
    explicit Workspace(MPI_Comm of);
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace();

    int rank() const { return rank_; }
    int size() const { return size_; }
    /// An intracommunicator of ranks of this MPI_COMM_WORLD only. Ranks that were spawned, or that another
    /// job brought, may choose otherwise, and `ours` does not reach them.
    bool is_of_this_world() const { return is_of_this_world_; }

    /// Memory of this thread that stays until a longer one is asked for; aligned to 64.
    /// @throws std::bad_alloc.
    std::byte* memory(Scratch use, std::size_t bytes);

    /// Mock-ups may send: the ranks have agreed on a tag. The same on all ranks; collective.
    bool can_send();
    /// A message to a rank of the communicator while one comes from another, or from this one itself;
    /// MPI_PROC_NULL: none.  Only where can_send. An error goes to the communicator's own error handler.
    int exchange(const void* send, int send_count, MPI_Datatype send_type, int to, void* receive,
                 int receive_count, MPI_Datatype receive_type, int from);
    int send(const void* data, int count, MPI_Datatype type, int to);
    int receive(void* data, int count, MPI_Datatype type, int from);

    /// The library takes this op for this datatype.
    bool bears(MPI_Op op, MPI_Datatype type);

    /// An error of a call on a communicator of ours goes to the error handler of the user's, as that of a
    /// part that is called on the user's own has done already.  @return The code.
    int raised(int code) const;

  private:
    int in_world(int rank) const;

    MPI_Comm of_;
    int rank_ = 0;
    int size_ = 0;
    bool is_of_this_world_ = false;
    int tag_ = -1;
    int attempts_ = 0;
    std::vector<int> world_ranks_;  ///< of each rank; empty before messages are sent
    MPI_Op op_ = MPI_OP_NULL;       ///< with type_: the last ones that the library took
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

}  // namespace slowpath::mockups
