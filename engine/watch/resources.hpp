// SPDX-License-Identifier: Apache-2.0
/// What this process has to work with, from /proc: lines of the section text (schema/watch.json).
#pragma once

namespace slowpath::watch {

/// Processors, threads, switches, memory, and what limits them: `at begin` or `at end`.
void note_resources(const char* moment);

/// How the process was started, as its launcher told it: `launch`.
void note_launch();

void begin_resources();

}  // namespace slowpath::watch
