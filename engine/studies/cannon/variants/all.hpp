// SPDX-License-Identifier: Apache-2.0
/// The kinds, each defined in the file of its name.
#pragma once

#include "cannon/variant.hpp"

namespace slowpath::cannon {

extern const VariantKind compute_only, sendrecv_replace, sendrecv, isend_wait, isend_test, isend_test_apart,
    put_fence, put_fence_two_windows, pscw, put_flag, get_from_home, shared_copy, shared_direct, dgemm_alone;

/// For kinds that can run everywhere.
inline std::optional<std::string> no_obstacle(const Stage&) {
    return std::nullopt;
}

/// For kinds that need all ranks on one node.
inline std::optional<std::string> needs_one_node(const Stage& stage) {
    if (stage.one_node) return std::nullopt;
    return "it reads the memory of other ranks, and they are on several nodes";
}

template <class Kind>
std::unique_ptr<Variant> make(Stage& stage) {
    return std::make_unique<Kind>(stage);
}

}  // namespace slowpath::cannon
