// SPDX-License-Identifier: Apache-2.0
/// The process that opens what the other one exported.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "ipc/channel.hpp"
#include "ipc/driver.hpp"
#include "ipc/steps.hpp"

namespace slowpath::ipc {

struct Shared {
    Handle handle;
    std::uint64_t seed;  ///< of the pattern that its first bytes hold
};

struct ImportRequest {
    int device;
    std::size_t allocation_bytes;  ///< of each, for messages of errors
    std::int64_t access_bytes;
    std::vector<Shared> shared;  ///< all are open at once
};

struct Imported {
    std::uint64_t address;  ///< where the first open put it
    std::int64_t wrong_bytes;
    std::array<StepTime, step_count> times;  ///< that of Step::export_handle is not filled
};

/// What is done in the second process: serve requests until the first one closes its end.  @return Its exit
/// code.
int serve_imports(Channel& channel);

/// The second process as an entry of launch_begin's `ranks`.  @throws EnvironmentFailure: it has no driver to
/// use.
std::string describe_importer(Peer& importer);

/// @throws EnvironmentFailure: a driver call failed over there, or the process ended.
std::vector<Imported> import_all(Peer& importer, const ImportRequest& request);

}  // namespace slowpath::ipc
