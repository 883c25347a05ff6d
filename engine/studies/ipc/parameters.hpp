// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "core/parameters.hpp"

namespace slowpath::ipc {

/// The table: --help, validation and sweeps come from it.
std::span<const Parameter> parameters();

/// One cell.
struct Config {
    std::int64_t asked_bytes;  ///< as a program asks for it: allocation_bytes + overalloc_bytes
    std::int64_t total_bytes;  ///< as allocated: rounded up to a multiple of pad_to_bytes, if that is not 0
    std::int64_t access_bytes;
    std::int64_t live;
    std::int64_t keep;
    std::int64_t repetitions;
    std::int64_t warmups;
    int exporter_device;
    int importer_device;
};

/// @throws UsageError: a sum over 2^63-1, an access longer than the allocation.
Config configure(const Assignment& assignment);

}  // namespace slowpath::ipc
