// SPDX-License-Identifier: Apache-2.0
/// The file that reports are written to: that of the last program, whole, though a program and those that it
/// spawned write it at the same time.
#pragma once

#include <string_view>

namespace slowpath::replace {

/// Waits at most this long for another program that writes.
inline constexpr int patience_of_report_ms = 2000;

/// Writes the file anew; a FIFO without a reader is an error and no wait.
/// @return False, with errno: the text is not there, or not whole.
bool write_report(const char* path, std::string_view text);

}  // namespace slowpath::replace
