// SPDX-License-Identifier: Apache-2.0
/// Words for the constants of the MPI tool information interface (MPI-4.1 chapter 15).
#pragma once

#include <mpi.h>

#include <string>

namespace slowpath::mpi {

/// "int", "unsigned", "text", ...; "other" for a type that MPI-4.1 section 15.3.5 does not list.
std::string tool_type_name(MPI_Datatype type);

/// "state", "level", "size", "percentage", "highwatermark", "lowwatermark", "counter", "aggregate", "timer",
/// "generic" (MPI-4.1 section 15.3.7).
std::string performance_class_name(int kind);

/// Why a call of the interface failed, e.g. "MPI_T_ERR_INVALID_HANDLE".  @param code Not MPI_SUCCESS.
std::string tool_error_text(int code);

}  // namespace slowpath::mpi
