// SPDX-License-Identifier: Apache-2.0
/// What the library shows through the MPI tool information interface (MPI-4.1 chapter 15): its settings with
/// their values, and its counters.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace slowpath::mpi {

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
