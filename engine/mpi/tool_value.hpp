// SPDX-License-Identifier: Apache-2.0
/// A value of the MPI tool information interface, from bytes of its type to JSON.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

namespace slowpath::mpi {

/// JSON of a value, or why there is none.
struct ToolValue {
    std::string json = "null";
    std::optional<std::string> reason;
};

/// @param type As the interface reports it.  @param count Elements, as the handle's allocation reports.
/// @param read Writes the value to the buffer and returns an error code; called at most once.
ToolValue read_tool_value(MPI_Datatype type, int count, const std::function<int(void*)>& read);

}  // namespace slowpath::mpi
