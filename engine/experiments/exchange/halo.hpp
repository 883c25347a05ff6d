// SPDX-License-Identifier: Apache-2.0
/// A rank's array, its buffers and datatypes, and one exchange of its faces.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/grid.hpp"
#include "exchange/parameters.hpp"

namespace slowpath::exchange {

class Halo {
  public:
    /// @param seed Of the cell, the same on all ranks.  @throws std::bad_alloc, mpi::Error.
    Halo(const Config& config, const Grid& grid, int rank, std::uint64_t seed);
    ~Halo();
    Halo(const Halo&) = delete;
    Halo& operator=(const Halo&) = delete;

    const std::vector<Neighbour>& neighbours() const { return neighbours_; }

    /// Content `number` into all that is sent, its complement where it is to arrive.
    void prepare(std::uint64_t number);
    /// What is timed.  @return The first MPI error code that is not MPI_SUCCESS.
    int exchange();
    /// Compare with content `number`: packed and derived the whole array, contiguous the receive buffers.
    /// @param when For the reason, "after the first exchange".
    void compare(std::uint64_t number, const char* when);

    std::int64_t compared_bytes = 0;
    std::int64_t wrong_bytes = 0;
    std::optional<std::string> first_wrong;

  private:
    using Bytes = std::vector<std::byte>;
    /// A face both ways.
    struct Face {
        Neighbour neighbour;
        Region inner;
        Region ghost;
        Bytes out{};
        Bytes in{};
        Bytes expected{};  ///< what is to arrive
        MPI_Datatype out_type = MPI_DATATYPE_NULL;
        MPI_Datatype in_type = MPI_DATATYPE_NULL;
    };
    void fill_as(int rank, std::uint64_t number, Bytes& array) const;
    MPI_Datatype subarray(const Region& region) const;
    int start_receive(Face& face, MPI_Request& request);
    int start_send(Face& face, MPI_Request& request);
    void judge(const Bytes& expected, const Bytes& got, const char* when);

    Box box_;
    Datatype datatype_;
    int rank_;
    std::uint64_t seed_;
    std::vector<Neighbour> neighbours_;
    Bytes array_;
    Bytes scratch_;  ///< another rank's array, or what this one is to hold
    std::vector<Face> faces_;
    std::vector<MPI_Request> requests_;
};

}  // namespace slowpath::exchange
