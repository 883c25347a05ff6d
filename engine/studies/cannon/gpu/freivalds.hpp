// SPDX-License-Identifier: Apache-2.0
/// Is C on the devices the product of A and B?  Freivalds' check of all of C, made anew from the hash of the
/// inputs, on the CPU, in chunks.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

#include "cannon/gpu/stage.hpp"
#include "cannon/inputs.hpp"

namespace slowpath::cannon::gpu {

/// One random x for a cell and launch, so that y = A (B x) is made once and any C is checked by z = C x
/// alone.
///
/// x, bounds and probabilities are those of experiments/cannon/verify.hpp: |z - y| <= 4 gamma_n (|A| |B| |x|)
/// row by row for real numbers.  For integers, and so for bfloat16, whose elements are integers in [-8, 8], z
/// must equal y: sums of n <= 65536 products do not exceed 2^22, which a float holds, and those of z a double
/// does.
class Freivalds {
  public:
    /// Collective.
    Freivalds(MPI_Comm communicator, const Layout& layout, const Inputs& inputs, std::uint32_t seed);

    /// Collective.  @param c This rank's block on its device, which no stream is still writing.
    /// @return nullopt, or one line; the same on every rank.
    std::optional<std::string> wrong(const Cuda& cuda, Element element, const DeviceMemory& c,
                                     const Staging& staging) const;

  private:
    MPI_Comm communicator_;
    Layout layout_;
    std::vector<double> x_, y_, bound_;
};

}  // namespace slowpath::cannon::gpu
