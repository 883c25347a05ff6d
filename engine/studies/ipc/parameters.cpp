// SPDX-License-Identifier: Apache-2.0
#include "ipc/parameters.hpp"

#include <array>
#include <string>

#include "core/error.hpp"

namespace slowpath::ipc {
namespace {

constexpr std::string_view largest = "9223372036854775807";

/// Smallest multiple of `granule` that is not below `bytes`; false where it leaves 63 bits.
bool round_up(std::int64_t bytes, std::int64_t granule, std::int64_t& rounded) {
    const std::int64_t rest = granule == 0 ? 0 : bytes % granule;
    return !__builtin_add_overflow(bytes, rest == 0 ? 0 : granule - rest, &rounded);
}

}  // namespace

std::span<const Parameter> parameters() {
    using enum ParameterType;
    using enum ParameterRole;
    static const std::array table{
        Parameter{
            .name = "allocation_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "1GiB",
            .minimum = "1",
            .maximum = largest,
            .meaning = "length of the allocation that is shared, before over-allocation",
        },
        Parameter{
            .name = "overalloc_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "0",
            .minimum = "0",
            .maximum = largest,
            .meaning = "added to it",
        },
        Parameter{
            .name = "pad_to_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "0",
            .minimum = "0",
            .maximum = largest,
            .meaning = "the sum is rounded up to a multiple of this, as padding would; 0: it is not",
        },
        Parameter{
            .name = "live",
            .type = count,
            .role = covariate,
            .default_value = "1",
            .minimum = "1",
            .maximum = "65536",
            .meaning = "allocations that the importer holds open at once",
        },
        Parameter{
            .name = "keep",
            .type = count,
            .role = covariate,
            .default_value = "1",
            .minimum = "0",
            .maximum = "65536",
            .meaning = "repetitions whose allocations stay, unshared, so that the next ones stand elsewhere",
        },
        Parameter{
            .name = "repetitions",
            .type = count,
            .role = effort,
            .default_value = "5",
            .minimum = "1",
            .maximum = "1000000",
            .meaning = "times that fresh allocations are made, shared and freed",
        },
        Parameter{
            .name = "warmups",
            .type = count,
            .role = effort,
            .default_value = "1",
            .minimum = "0",
            .maximum = "1000000",
            .meaning = "repetitions before those, recorded as phase warmup",
        },
        Parameter{
            .name = "access_bytes",
            .type = bytes,
            .role = covariate,
            .unit = "bytes",
            .default_value = "64",
            .minimum = "1",
            .maximum = "1GiB",
            .meaning = "bytes that the importer's first access copies and compares",
        },
        Parameter{
            .name = "exporter_device",
            .type = count,
            .role = setting,
            .default_value = "0",
            .minimum = "0",
            .maximum = "1023",
            .meaning = "GPU of the allocation",
        },
        Parameter{
            .name = "importer_device",
            .type = count,
            .role = setting,
            .default_value = "0",
            .minimum = "0",
            .maximum = "1023",
            .meaning = "GPU whose process opens it",
        },
    };
    return table;
}

Config configure(const Assignment& assignment) {
    Config config{};
    const std::int64_t allocation_bytes = assignment.integer("allocation_bytes");
    const std::int64_t overalloc_bytes = assignment.integer("overalloc_bytes");
    if (__builtin_add_overflow(allocation_bytes, overalloc_bytes, &config.asked_bytes) ||
        !round_up(config.asked_bytes, assignment.integer("pad_to_bytes"), config.total_bytes))
        throw UsageError("allocation_bytes " + std::to_string(allocation_bytes) + " + overalloc_bytes " +
                         std::to_string(overalloc_bytes) +
                         ", rounded up to pad_to_bytes, is over 2^63-1 bytes");
    config.access_bytes = assignment.integer("access_bytes");
    if (config.access_bytes > config.asked_bytes)
        throw UsageError("access_bytes " + std::to_string(config.access_bytes) +
                         " is more than the allocation's " + std::to_string(config.asked_bytes) +
                         " bytes; lower it");
    config.live = assignment.integer("live");
    config.keep = assignment.integer("keep");
    config.repetitions = assignment.integer("repetitions");
    config.warmups = assignment.integer("warmups");
    config.exporter_device = static_cast<int>(assignment.integer("exporter_device"));
    config.importer_device = static_cast<int>(assignment.integer("importer_device"));
    return config;
}

}  // namespace slowpath::ipc
