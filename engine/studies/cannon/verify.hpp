// SPDX-License-Identifier: Apache-2.0
/// Is C the product of A and B?  Freivalds' check, without ever holding more than vectors of n.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

#include "cannon/matrices.hpp"

namespace slowpath::cannon {

// Is C the product of A and B?  Freivalds' check, without ever holding more than vectors of n.

struct Verdict {
    std::optional<std::string> wrong;  ///< one line; the same on every rank
    double residual_ratio = 0;         ///< largest |Cx - A(Bx)| over its bound; integer numbers: 0 or 1
};

/// Compares z = C x with y = A (B x) for one random x (Freivalds 1977), A and B made anew from their hash.
///
/// Real numbers: componentwise |z - y| <= 4 gamma_n (|A| |B| |x|), gamma_n = n u / (1 - n u) (Higham,
/// Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5): a right product never fails.
/// Integers: every sum is exact, so z must equal y; x from 2049 values, so that a wrong C passes with
/// probability 1/2049 at most. Collective over `communicator`, whose ranks are the layout's.
Verdict verify(MPI_Comm communicator, const Layout& layout, const Inputs& inputs, std::uint32_t seed,
               const double* c);

}  // namespace slowpath::cannon
