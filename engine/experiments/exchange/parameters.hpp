// SPDX-License-Identifier: Apache-2.0
/// What a cell of the experiment exchange is given.
#pragma once

#include <cstdint>
#include <span>

#include "core/parameters.hpp"
#include "exchange/box.hpp"
#include "experiment/experiment.hpp"

namespace slowpath::exchange {

/// How a face becomes a message.
enum class Datatype {
    contiguous,  ///< it lies packed already: no copy at all
    packed,      ///< copied into a buffer and out of one, in the timed region
    derived,     ///< MPI_Type_create_subarray on the array
};

struct Config {
    Box box;
    Datatype datatype;
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: a face longer than MPI's int counts, or an array longer than 8 GiB.
Config configure(const Assignment& assignment);

}  // namespace slowpath::exchange
