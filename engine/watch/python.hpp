// SPDX-License-Identifier: Apache-2.0
/// Lines in Python that call MPI, asked of the interpreter by functions that it exports.
///
/// A return address in a binding (mpi4py) is the same for all lines of a program, so the line is a part of a
/// place. No code of the program in Python runs meanwhile: no collection of garbage, no other thread.
#pragma once

#include <cstdint>

namespace slowpath::watch {

/// Whether an interpreter is in this process.
bool is_python_there();

/// Number of the line in Python that this thread is at, from 1, which the record describes in a line
/// `python`. 0: it is at none, it has no room, or the interpreter can't be asked now.
std::uint16_t find_python_line();

void begin_python();

}  // namespace slowpath::watch
