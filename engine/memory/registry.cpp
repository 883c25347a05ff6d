// SPDX-License-Identifier: Apache-2.0
#include "memory/registry.hpp"

#include <array>
#include <stdexcept>

namespace slowpath::memory {

extern const KindEntry host_kind, mpi_kind, pinned_host_kind, pinned_registered_kind, device_kind,
    device_pool_kind, device_vmm_kind, managed_kind;

bool default_pages_only(Pages pages) {
    return pages == Pages::system_default;
}

std::span<const KindEntry* const> registry() {
    static const std::array entries{
        &host_kind,               //
        &mpi_kind,                //
        &pinned_host_kind,        //
        &pinned_registered_kind,  //
        &device_kind,             //
        &device_pool_kind,        //
        &device_vmm_kind,         //
        &managed_kind,            //
    };
    return entries;
}

const KindEntry& entry(Kind kind) {
    for (const KindEntry* candidate : registry())
        if (candidate->kind == kind) return *candidate;
    throw std::logic_error("memory kind without a line in memory/registry.cpp");
}

}  // namespace slowpath::memory
