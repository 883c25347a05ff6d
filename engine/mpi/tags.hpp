// SPDX-License-Identifier: Apache-2.0
/// Tags of the control communicator and of those made of it, one for each kind of traffic.
#pragma once

namespace slowpath::mpi::tag {

inline constexpr int barrier = 1;
inline constexpr int decision = 2;
inline constexpr int gather = 3;
inline constexpr int wake = 4;
inline constexpr int first_peers = 5;
inline constexpr int clock = 6;

}  // namespace slowpath::mpi::tag
