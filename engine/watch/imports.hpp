// SPDX-License-Identifier: Apache-2.0
/// What the program imports of MPI, against what is wrapped.
///
/// Weak references to calls that the MPI library lacks.
#pragma once

namespace slowpath::watch {

/// Into the record: for each call how many objects in memory import it and how often dlsym gave it, and a
/// line `unseen` for each function of MPI's that is imported and may communicate, but has no wrapper. Objects
/// that are MPI's own are left out. May be repeated; later ones see what was loaded since.
void note_imports();

/// A program may refer to a call weakly and ask whether it is there: mpi4py does so with the large counts.
/// The loader has found this library's wrapper; where the MPI library has no such call the reference is made
/// null again, as it would be without this library. To be done before the program asks.
void withdraw_missing();

}  // namespace slowpath::watch
