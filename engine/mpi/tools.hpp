// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace slowpath::mpi {

// Words for the constants of the MPI tool information interface (MPI-4.1 chapter 15).

/// "int", "unsigned", "text", ...; "other" for a type that MPI-4.1 section 15.3.5 does not list.
std::string tool_type_name(MPI_Datatype type);

/// "state", "level", "size", "percentage", "highwatermark", "lowwatermark", "counter", "aggregate", "timer",
/// "generic" (MPI-4.1 section 15.3.7).
std::string performance_class_name(int kind);

/// Why a call of the interface failed, e.g. "MPI_T_ERR_INVALID_HANDLE".  @param code Not MPI_SUCCESS.
std::string tool_error_text(int code);

// A value of the MPI tool information interface, from bytes of its type to JSON.

/// JSON of a value, or why there is none.
struct ToolValue {
    std::string json = "null";
    std::optional<std::string> reason;
};

/// @param type As the interface reports it.  @param count Elements, as the handle's allocation reports.
/// @param read Writes the value to the buffer and returns an error code; called at most once.
ToolValue read_tool_value(MPI_Datatype type, int count, const std::function<int(void*)>& read);

// What the library shows through the MPI tool information interface (MPI-4.1 chapter 15): its settings with
// their values, and its counters.

/// From MPI_T_init_thread to MPI_T_finalize, on one rank.  What the library refuses has null as its value and
/// a reason; nothing throws.  Opening it can load parts of a library that nobody uses otherwise, so only
/// witnessed launches do.
class Tools {
  public:
    Tools();
    ~Tools();
    Tools(const Tools&) = delete;
    Tools& operator=(const Tools&) = delete;

    /// JSON: `{"variables": [{name, value, type, description, reason}], "reason"}`; docs/internals/record.md.
    std::string control_variables() const;
    /// Begin to count what counts only when started.
    void start_performance_variables();
    /// JSON: `{"variables": [{name, class, value, type, description, reason}], "reason"}`;
    /// docs/internals/record.md.
    std::string performance_variables();

  private:
    struct Watched {
        int index;
        std::optional<std::string> reason;  ///< why it is not read
        MPI_T_pvar_handle handle;
        int count;
    };
    Watched watch(int index) const;

    int code_ = MPI_SUCCESS;  ///< of MPI_T_init_thread
    MPI_T_pvar_session session_;
    bool has_session_ = false;
    std::vector<Watched> watched_;
};

}  // namespace slowpath::mpi
