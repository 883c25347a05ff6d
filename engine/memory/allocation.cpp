// SPDX-License-Identifier: Apache-2.0
#include "memory/allocation.hpp"

#include <unistd.h>

#include <cstring>

#include "memory/pages.hpp"

namespace slowpath::memory {

void HostAllocation::write(std::size_t at, std::span<const std::byte> from) {
    if (!from.empty()) std::memcpy(base() + at, from.data(), from.size());
}

void HostAllocation::read(std::size_t at, std::span<std::byte> to) const {
    if (!to.empty()) std::memcpy(to.data(), base() + at, to.size());
}

Observed HostAllocation::observe_host(const char* mpi_memory_kind, std::size_t bytes) const {
    const PageReport report = observe_pages(base(), bytes);
    return {mpi_memory_kind, report.pages, report.huge_bytes, report.page_bytes};
}

std::size_t system_page_bytes() {
    static const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return page_bytes;
}

}  // namespace slowpath::memory
