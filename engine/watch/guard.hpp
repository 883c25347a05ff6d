// SPDX-License-Identifier: Apache-2.0
/// A record whose file is made shorter while it is mapped: the program runs on, without its record.
#pragma once

#include <cstdint>

namespace slowpath::watch {

/// Take SIGBUS where it comes from these addresses: all of them become memory of the process's own, and
/// nothing more is recorded. Any other SIGBUS is the program's, as if nobody had been here. Does nothing
/// where the program ignores SIGBUS, which a program that it starts would inherit.
void guard_record(void* begin, std::uint64_t bytes);
/// Give SIGBUS back, unless the program has taken it meanwhile.
void unguard_record();

}  // namespace slowpath::watch
