// SPDX-License-Identifier: Apache-2.0
/// What a put answers: 0, or which of its arguments can't be meant.
#pragma once

#include <string_view>

namespace slowpath::layers {

/// Codes are returned by C functions, hence plain int values; their order is the order in which a put checks.
enum Error : int {
    success = 0,
    error_window,        ///< null, or not a window (any more)
    error_epoch,         ///< no access epoch: Window::begin_epoch comes first
    error_rank,          ///< neither a rank of the window nor proc_null
    error_count,         ///< negative
    error_datatype,      ///< null, freed, or never made
    error_uncommitted,   ///< derived, and not committed
    error_size,          ///< origin and target hold different numbers of bytes
    error_displacement,  ///< negative
    error_range,         ///< the target's data would leave the target's part of the window
    error_slots,  ///< of a burst: slot_bytes is no power of two, or no multiple of the displacement unit
};

/// The rank that nothing is sent to (MPI-4.1 section 3.10); its value is this library's own.
inline constexpr int proc_null = -1;

/// What is wrong, why and what to do, in one line.
std::string_view describe(int code);

}  // namespace slowpath::layers
