// SPDX-License-Identifier: Apache-2.0
/// What a function of MPI would be, were libslowpath-coll.so not there.
#pragma once

namespace slowpath::replace {

/// The next definition after this library's, which may be another tool's; else the MPI library's under its
/// profiling name. Ends the program where there is none.
void* original(const char* name);

/// The MPI library's function of a profiling name; nullptr: it has none.
void* in_library(const char* name);
/// The MPI library's data of this name: where the program's copy of it is (copy relocation, System V ABI),
/// which the library itself uses then.
void* data_of_library(const char* name);
/// Whether the MPI library has the handles that this library is compiled for: those of Open MPI are addresses
/// of its data, those of MPICH and its kin numbers, and those of the MPI standard's ABI small addresses.
bool has_library_our_interface();

}  // namespace slowpath::replace
