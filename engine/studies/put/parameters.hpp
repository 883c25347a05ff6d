// SPDX-License-Identifier: Apache-2.0
/// The tables of put, and a cell's parameters as numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"
#include "layers/burst.hpp"

namespace slowpath::put {

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

enum class Operation { put, get, accumulate, fetch_and_op, compare_and_swap, rput };
enum class WindowKind { allocate, create, allocate_shared, dynamic };
enum class Synchronisation { flush_all, fence, pscw, lock, flush_local };
enum class DatatypeKind { predefined, contiguous, vector, indexed, large_count };
/// Of the target's side alone.
enum class TargetDatatype { same, vector, indexed };

/// The design that stands for the MPI library in use.
inline constexpr std::string_view mpi_design = "mpi";

struct Config {
    std::string design;
    layers::Call call;
    bool checks;
    Operation operation;
    WindowKind window;
    Synchronisation synchronisation;
    DatatypeKind datatype;  ///< of the origin, and of the target where target_datatype is `same`
    TargetDatatype target_datatype;
    std::int64_t message_bytes;
    std::int64_t puts;
    std::string window_info;  ///< name in info.cpp
    layers::Order order;
    std::int64_t instructions;
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;
    double target_busy_s;  ///< the target computes so long between its calls of MPI; 0: it waits in MPI

    /// The two sides describe the same bytes by different datatypes.
    bool two_datatypes() const {
        return target_datatype != TargetDatatype::same && target_kind() != datatype;
    }
    DatatypeKind target_kind() const {
        switch (target_datatype) {
            case TargetDatatype::vector:
                return DatatypeKind::vector;
            case TargetDatatype::indexed:
                return DatatypeKind::indexed;
            case TargetDatatype::same:
                break;
        }
        return datatype;
    }
    bool uses_mpi() const { return design == mpi_design; }
    bool uses_openshmem() const { return design.starts_with("openshmem"); }
    bool uses_layers() const { return !uses_mpi() && !uses_openshmem(); }
    /// The target takes part in every synchronisation (MPI-4.1 section 12.5: active target).
    bool active_target() const {
        return uses_mpi() &&
               (synchronisation == Synchronisation::fence || synchronisation == Synchronisation::pscw);
    }
};

/// @throws UsageError for what can't be together, naming both and what to do.
Config configure(const Assignment& assignment);

}  // namespace slowpath::put
