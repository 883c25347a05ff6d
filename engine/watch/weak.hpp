// SPDX-License-Identifier: Apache-2.0
/// Weak references to calls that the MPI library lacks.
#pragma once

namespace slowpath::watch {

/// A program may refer to a call weakly and ask whether it is there: mpi4py does so with the large counts.
/// The loader has found this library's wrapper; where the MPI library has no such call the reference is made
/// null again, as it would be without this library. To be done before the program asks.
void withdraw_missing();

}  // namespace slowpath::watch
