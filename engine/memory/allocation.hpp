// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "memory/buffer.hpp"

namespace slowpath::memory {

/// One live allocation of one kind. Ranges were checked by Buffer. release() is called at most once and
/// frees; the destructor of an allocation frees nothing, so that a failure to free can be reported.
class Allocation {
  public:
    virtual ~Allocation() = default;
    Allocation() = default;
    Allocation(const Allocation&) = delete;
    Allocation& operator=(const Allocation&) = delete;

    virtual std::byte* base() const = 0;
    virtual std::byte* host_view() const = 0;
    virtual Observed observe() const = 0;
    virtual void write(std::size_t at, std::span<const std::byte> from) = 0;
    virtual void read(std::size_t at, std::span<std::byte> to) const = 0;
    virtual void release() = 0;
};

/// Memory that the CPU reads and writes as it is: copies are memcpy, pages come from /proc/self/smaps.
class HostAllocation : public Allocation {
  public:
    std::byte* host_view() const override { return base(); }
    void write(std::size_t at, std::span<const std::byte> from) override;
    void read(std::size_t at, std::span<std::byte> to) const override;

  protected:
    /// What smaps says of `bytes` bytes at base().
    Observed observe_host(const char* mpi_memory_kind, std::size_t bytes) const;
};

/// The system's base page size, bytes.
std::size_t system_page_bytes();

}  // namespace slowpath::memory
