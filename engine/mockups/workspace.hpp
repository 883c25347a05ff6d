// SPDX-License-Identifier: Apache-2.0
/// What mock-ups keep for a communicator, as an attribute of it: freed when the communicator is.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

/// Buffers of one call that must not be the same memory.
enum class Scratch : std::uint8_t { input, output, copy, lengths };

class Workspace {
  public:
    Workspace(MPI_Comm of, MPI_Comm apart) : of_(of), apart_(apart) {}
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;
    ~Workspace();

    /// Memory that stays until a longer one is asked for; aligned to 64.
    std::byte* memory(Scratch use, std::size_t bytes);

    /// The same ranks in the same order without the user's messages, for sends of a mock-up; MPI_COMM_NULL:
    /// the library made none.  Errors come back as codes.
    MPI_Comm apart() const { return apart_; }

    /// This rank by itself, for questions whose answer is an error code.  Collective when asked for first.
    MPI_Comm alone();

    /// An error of a call on a communicator of ours goes to the error handler of the user's, as that of a
    /// part that is called on the user's own has done already.  @return The code.
    int raised(int code) const;

  private:
    struct Room {
        std::unique_ptr<std::byte[]> held;
        std::byte* begin = nullptr;
        std::size_t bytes = 0;
    };

    MPI_Comm of_;
    MPI_Comm apart_;
    MPI_Comm alone_ = MPI_COMM_NULL;
    std::array<Room, 4> rooms_;
};

}  // namespace slowpath::mockups
