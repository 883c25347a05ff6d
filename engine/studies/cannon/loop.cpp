// SPDX-License-Identifier: Apache-2.0
// The plain loop.  CMakeLists.txt compiles this file once for each set of options, with SLOWPATH_LOOP as the
// name.
#include "cannon/multiply.hpp"

namespace slowpath::cannon {

/// Columns of c, k, rows: the innermost loop runs along memory, as a programmer would write it.
void SLOWPATH_LOOP(int m, int n, int k, const double* a, const double* b, int ldb, double* c) {
    for (int column = 0; column < n; ++column) {
        double* __restrict const to = c + static_cast<long>(column) * m;
        for (int inner = 0; inner < k; ++inner) {
            const double factor = b[inner + static_cast<long>(column) * ldb];
            const double* const from = a + static_cast<long>(inner) * m;
            for (int row = 0; row < m; ++row) to[row] += factor * from[row];
        }
    }
}

}  // namespace slowpath::cannon
