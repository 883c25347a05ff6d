// SPDX-License-Identifier: Apache-2.0
/// Who called a Fortran binding: its stubs note the return address and jump on.
#pragma once

#include "watch/observer.hpp"

namespace slowpath::watch {

inline void note_fortran_caller(Observed&) {}

}  // namespace slowpath::watch
