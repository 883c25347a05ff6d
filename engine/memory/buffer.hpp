// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "memory/error.hpp"

namespace slowpath::memory {

/// What is done to each page of an allocation of host memory before its first use.
enum class Touch { write, read, none };

/// Touches each page of [begin, begin + bytes).
void touch_pages(Touch how, std::byte* begin, std::size_t bytes);

const char* name(Touch how);
std::optional<Touch> touch_from(std::string_view word);

class Allocation;

/// Who allocates.
enum class Kind { host, mpi, pinned_host, pinned_registered, device, device_pool, device_vmm, managed };

/// Which pages stand behind host memory; which other kind takes which: takes().
enum class Pages { system_default, small, huge, shared };

struct Request {
    Kind kind = Kind::host;
    Pages pages = Pages::system_default;
    std::size_t bytes = 0;         ///< length of the allocation; 0 is allowed
    std::size_t offset_bytes = 0;  ///< where data() begins; at most `bytes`
    Touch touch = Touch::none;     ///< of each page before use (memory of the CPU only)
    int device = 0;                ///< ordinal of the GPU; ignored by kinds that need none
};

/// What the operating system says about an allocation now; it may change when pages are touched.
struct Observed {
    std::string mpi_memory_kind;  ///< MPI-4.1 section 12.4.1: system, mpi, cuda:host, rocm:device, ...
    std::string pages;            ///< small, huge, mixed, shared, unknown
    /// bytes that stand in huge pages; nullopt when `pages` can't be observed
    std::optional<std::size_t> huge_bytes = std::nullopt;
    std::size_t page_bytes;  ///< page size of the mapping, the system's base page size if not host
    std::optional<int> device = std::nullopt;  ///< the GPU that the allocation belongs to
    /// length of the GPU driver's own range around the memory (cuMemGetAddressRange); nullopt: it knows none
    std::optional<std::size_t> range_bytes = std::nullopt;
    /// what the GPU driver maps multiples of; device_vmm only
    std::optional<std::size_t> granularity_bytes = std::nullopt;
};

/// Whether memory of this kind can have these pages.
bool takes(Kind kind, Pages pages);
/// Whether a GPU's driver allocates or pins it.
bool needs_gpu(Kind kind);

/// Why this kind can't be had here, e.g. "no CUDA driver (libcuda.so.1: cannot open ...)"; nullopt if it can.
std::optional<std::string> unavailable(Kind kind);

/// Owns one fresh allocation. A moved-from buffer may only be assigned to or destroyed.
class Buffer {
  public:
    /// @throws Error when the request makes no sense or the system refuses it.
    explicit Buffer(const Request& request);
    ~Buffer();
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;

    std::byte* base() const;
    std::byte* data() const;  ///< base() + offset_bytes; what MPI is given
    std::size_t bytes() const;
    Observed observe() const;

    /// Copies to and from any kind of memory, done when it returns; `at` counts from base().
    /// @throws Error when the range leaves the allocation or the driver refuses.
    void write(std::size_t at, std::span<const std::byte> from);
    void read(std::size_t at, std::span<std::byte> to) const;

    std::byte* host_view() const;  ///< nullptr when the CPU can't access the memory directly

    /// Frees now and reports a failure, which the destructor can only print.  @throws Error
    void release();

  private:
    std::unique_ptr<Allocation> allocation_;
    std::size_t bytes_;
    std::size_t offset_bytes_;
};

const char* name(Kind kind);
std::optional<Kind> kind_from(std::string_view word);
const char* name(Pages pages);
std::optional<Pages> pages_from(std::string_view word);

/// Kind::mpi allocates through these (MPI_Alloc_mem, MPI_Free_mem), so that this library needs no mpi.h.
/// `allocate` returns nullptr or throws when it fails. Buffers must be gone before MPI_Finalize.
void set_mpi_allocator(void* (*allocate)(std::size_t), void (*release)(void*));

/// All that sets one kind of memory apart. A new kind is one of these in kinds.cpp, and its line in
/// buffer.cpp.
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
