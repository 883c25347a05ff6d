// SPDX-License-Identifier: Apache-2.0
/// What multiplies a rank's blocks: the BLAS, or a plain loop under one set of compiler options.
#pragma once

#include <span>
#include <string_view>

#include "cannon/kernels/loop.hpp"

namespace slowpath::cannon {

struct Kernel {
    std::string_view name;     ///< as the parameter `kernel` has it
    Loop* loop;                ///< null: the BLAS
    std::string_view options;  ///< of the compiler, for the loop; empty: the BLAS
};

/// The first one is the BLAS.
std::span<const Kernel> kernels();

/// What compiled the loops, as it names itself.
std::string_view compiler();

}  // namespace slowpath::cannon
