// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "cannon/gpu/style.hpp"

namespace slowpath::cannon::gpu {

std::span<const StyleKind> styles() {
    static const std::array all{compute_only, sendrecv, isend_wait, shared_copy, shared_direct};
    return all;
}

const StyleKind* find_style(std::string_view name) {
    for (const StyleKind& kind : styles())
        if (kind.name == name) return &kind;
    return nullptr;
}

std::optional<std::string> no_such_style(std::string_view variant) {
    if (find_style(variant) != nullptr) return std::nullopt;
    std::string reason =
        "variant=" + std::string(variant) + ": it has no form for memory=device; these have:";
    for (const StyleKind& known : styles()) reason += " " + std::string(known.name);
    return reason;
}

}  // namespace slowpath::cannon::gpu
