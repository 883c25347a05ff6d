// SPDX-License-Identifier: Apache-2.0
/// c += a b as a plain loop, under several sets of compiler options; column-major, leading dimensions m, ldb,
/// m.
#pragma once

namespace slowpath::cannon {

using Loop = void(int m, int n, int k, const double* a, const double* b, int ldb, double* c);

Loop loop_O0, loop_O2, loop_O3, loop_native;

}  // namespace slowpath::cannon
