// SPDX-License-Identifier: Apache-2.0
/// What a function of MPI would be, were libslowpath-coll.so not there.
#pragma once

namespace slowpath::replace {

/// The next definition after this library's, which may be another tool's; else the MPI library's under its
/// profiling name. Ends the program where there is none.
void* original(const char* name);

}  // namespace slowpath::replace
