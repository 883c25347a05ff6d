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

void touch_pages(std::byte* begin, std::size_t bytes) {
    const std::size_t page_bytes = system_page_bytes();
    for (std::size_t at = 0; at < bytes; at += page_bytes)
        *static_cast<volatile std::byte*>(begin + at) = std::byte{0};
    // An unaligned start leaves the last page behind the last full step.
    if (bytes > 0) *static_cast<volatile std::byte*>(begin + bytes - 1) = std::byte{0};
}

std::size_t system_page_bytes() {
    static const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    return page_bytes;
}

}  // namespace slowpath::memory
