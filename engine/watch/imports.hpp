// SPDX-License-Identifier: Apache-2.0
/// What the program imports of MPI, against what is wrapped.
#pragma once

namespace slowpath::watch {

/// Into the record: for each call how many objects in memory import it and how often dlsym gave it, and a
/// line `unseen` for each function of MPI's that is imported and may communicate, but has no wrapper. Objects
/// that are MPI's own are left out. May be repeated; later ones see what was loaded since.
void note_imports();

}  // namespace slowpath::watch
