// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "memory/allocation.hpp"
#include "memory/buffer.hpp"

namespace slowpath::memory {

/// All that sets one kind of memory apart. A new kind is one file that defines one of these, and its line in
/// registry.cpp.
struct KindEntry {
    Kind kind;
    const char* name;  ///< as the command line spells it
    bool (*takes)(Pages pages);
    bool needs_gpu;
    std::optional<std::string> (*unavailable)();
    std::unique_ptr<Allocation> (*allocate)(const Request& request);
};

/// KindEntry::takes of memory whose pages are its allocator's own affair.
bool default_pages_only(Pages pages);

std::span<const KindEntry* const> registry();
const KindEntry& entry(Kind kind);

}  // namespace slowpath::memory
