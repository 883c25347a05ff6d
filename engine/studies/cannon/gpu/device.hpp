// SPDX-License-Identifier: Apache-2.0
/// Which GPU a rank uses, and what the record says of it.
#pragma once

#include <optional>
#include <string>

#include "cannon/layout.hpp"
#include "experiment/context.hpp"

namespace slowpath::cannon::gpu {

/// Collective.  One rank a GPU: the ranks of a node take its devices in turn.
/// @return Why the ranks can't; nullopt: this rank's is number context.session.node_rank(), and current.
std::optional<std::string> take_device(Context& context);

/// A `note` of the event record with this rank's GPU (docs/internals/record.md).
std::string gpu_note(const Context& context, std::uint32_t cell);
/// A `note` with the library that multiplies and the grid.
std::string cublas_note(const std::string& name, const Layout& layout, std::uint32_t cell);

}  // namespace slowpath::cannon::gpu
