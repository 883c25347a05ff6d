// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"
#include "layers/burst.hpp"

namespace slowpath::put {

// The tables of put, and a cell's parameters as numbers.

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

// Combinations of parameters that mean nothing, each with its reason.

/// @throws UsageError: the first rule that the cell breaks, in one line.
void refuse_what_cannot_be(const Config& config, const Assignment& assignment);

// Which design of the layers a cell means.

/// The registered design with the cell's name, call and checks.  A design that exists in one form only,
/// as the limits do, is found whatever call and checks say, if they are at their defaults.
/// @throws UsageError: there is none; says which there are.
const layers::Design& find_layer_design(const Config& config);

/// A loop of stores puts one value everywhere, the first word of the origin.
bool stores_one_value(const Config& config);

/// An empty call has nothing to validate.
bool moves_data(const Config& config);

// Info keys of windows that are worth a measurement, by the name that the parameter window_info has for
// them.

struct WindowInfo {
    std::string_view name;
    std::string_view key;  ///< "": no key at all
    std::string_view value;
};

/// @param name A choice of the parameter.
const WindowInfo& find_window_info(std::string_view name);

// One element of the cell's datatype, described once; MPI's datatype and the layers' are both made from it.

enum class Basic : std::uint8_t { float64, int32, float32, int64 };

std::int64_t bytes_of(Basic basic);

struct Field {
    std::int64_t offset_bytes;
    Basic basic;
};

struct Shape {
    DatatypeKind kind;
    std::vector<Field> fields;  ///< in the order of the type map, 8 bytes together
    std::int64_t extent_bytes;

    std::int64_t end_bytes() const;  ///< true upper bound of one element
};

/// Payload of one element of every shape.
inline constexpr std::int64_t element_bytes = 8;

Shape shape_of(const Config& config);         ///< of the origin's side
Shape target_shape_of(const Config& config);  ///< same number of fields, of the same basic types

}  // namespace slowpath::put
