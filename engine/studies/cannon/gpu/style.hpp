// SPDX-License-Identifier: Apache-2.0
/// What a communication style is when the matrices are on GPUs.  It has the name of the style on the CPU that
/// it stands for.  Adding one: its file in styles/, a line in styles.cpp, a row in
/// docs/studies/cannon-gpu.md.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "cannon/gpu/stage.hpp"

namespace slowpath::cannon::gpu {

class Style {
  public:
    virtual ~Style() = default;
    /// C = A B, all steps; returns when everything that this rank started has been started and all its
    /// communication by MPI is over.  The skeleton waits for the streams.
    virtual void run() = 0;
};

struct StyleKind {
    std::string_view name;  ///< as the parameter `variant` has it
    bool by_mpi;            ///< MPI calls are given device memory
    bool reads_peers;       ///< it reads the memory of other ranks
    bool checked;           ///< its C is the product
    std::unique_ptr<Style> (*make)(const DeviceStage&);
};

extern const StyleKind compute_only, sendrecv, isend_wait, shared_copy, shared_direct;

/// Every style that there is on devices.
std::span<const StyleKind> styles();
/// nullptr: none of this name.
const StyleKind* find_style(std::string_view name);

/// "variant=pscw: it has no form for memory=device; these have: ..."; nullopt: there is one.
std::optional<std::string> no_such_style(std::string_view variant);

template <class Kind>
std::unique_ptr<Style> make(const DeviceStage& stage) {
    return std::make_unique<Kind>(stage);
}

}  // namespace slowpath::cannon::gpu
