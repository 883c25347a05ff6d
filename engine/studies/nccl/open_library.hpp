// SPDX-License-Identifier: Apache-2.0
/// A GPU library that is not linked, opened at run time.
#pragma once

#include <string>

namespace slowpath::nccl {

struct LibraryPlace {
    const char* what;        ///< "NCCL", for messages
    const char* file;        ///< where the dynamic loader looks
    const char* in_package;  ///< inside site-packages
    const char* package;     ///< that pip installs
    const char* variable;    ///< of the environment: the user's own file
};

/// The file that the variable names; else `file` where the dynamic loader looks; else that of the package in
/// PYTHONPATH or next to an interpreter of PATH.  Never closed.
/// @throws EnvironmentFailure: there is none.
void* open_library(const LibraryPlace& place);

/// Where the library of a function is; empty: not known.
std::string file_of(const void* symbol);

}  // namespace slowpath::nccl
