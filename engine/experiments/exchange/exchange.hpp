// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "exchange/box.hpp"
#include "experiment/context.hpp"
#include "experiment/experiment.hpp"
#include "mpi/together.hpp"
#include "record/block.hpp"
#include "record/witness.hpp"

namespace slowpath::exchange {

// A rank's array, its buffers and datatypes, and one exchange of its faces.

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

// First exchange, warm-up and steady state of a cell, all ranks together.

class Measurement {
  public:
    Measurement(Context& context, const Config& config, Halo& halo);

    /// Collective, each once, in this order.
    void first();
    void rest();

    std::uint32_t batch = 1;
    std::int64_t steady_samples = 0;
    bool cut_by_time = false;

  private:
    /// A barrier before each sample; nothing else than the exchanges is timed.
    void run(std::int64_t samples, std::uint32_t exchanges);
    /// Decides the batch.  @return Of one exchange on this rank, ns.
    double warm_up();
    void begin_block(std::int64_t capacity);
    void end_block(Phase phase, std::uint32_t exchanges);
    std::int64_t decide(std::int64_t mine) const;

    Context& context_;
    const Config& config_;
    Halo& halo_;
    std::vector<int> ranks_;
    mpi::Barrier barrier_;
    Samples samples_;
    std::int64_t done_samples_ = 0;
    std::int64_t block_begin_ns_ = 0;
    Witness block_witness_;
};

// The experiment `exchange`: what neighbours in a grid of ranks send each other at once.

extern const Experiment experiment;

}  // namespace slowpath::exchange
