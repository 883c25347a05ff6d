// SPDX-License-Identifier: Apache-2.0
/// The mock-ups of each collective, or of each way that many collectives can be done; registry.cpp lists all.
#pragma once

#include <span>

#include "mockups/mockups.hpp"

namespace slowpath::mockups {

std::span<const Mockup> of_allgather();
std::span<const Mockup> of_allreduce();
std::span<const Mockup> of_alltoall();
std::span<const Mockup> of_barrier();
std::span<const Mockup> of_bcast();
std::span<const Mockup> of_gather();
std::span<const Mockup> of_reduce();
std::span<const Mockup> of_reduce_scatter();
std::span<const Mockup> of_scan();
std::span<const Mockup> of_scatter();

}  // namespace slowpath::mockups
