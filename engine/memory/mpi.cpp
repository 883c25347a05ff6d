// SPDX-License-Identifier: Apache-2.0
// Memory from MPI_Alloc_mem (MPI-4.1 section 9.2), through functions that the MPI side of the engine sets.
#include <memory>

#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

void* (*allocate_memory)(std::size_t) = nullptr;
void (*release_memory)(void*) = nullptr;

class MpiMemory final : public HostAllocation {
  public:
    explicit MpiMemory(const Request& request) : bytes_(request.bytes), memory_(allocate_memory(length())) {
        if (memory_ == nullptr) throw Error("MPI_Alloc_mem", "gave no memory", bytes_);
        // Buffers of all kinds begin on a page, or what a start off one costs would be taken for what the
        // kind costs: MPICH and Open MPI hand out what malloc gives, 16 or 64 bytes behind a page.
        std::size_t room = length();
        void* aligned = memory_;
        base_ = static_cast<std::byte*>(std::align(system_page_bytes(), bytes_, aligned, room));
        touch_pages(request.touch, base_, bytes_);
    }

    std::byte* base() const override { return base_; }
    Observed observe() const override { return observe_host("mpi", bytes_); }
    void release() override { release_memory(memory_); }

  private:
    std::size_t length() const { return bytes_ + system_page_bytes(); }

    std::size_t bytes_;
    void* memory_;
    std::byte* base_ = nullptr;
};

}  // namespace

void set_mpi_allocator(void* (*allocate)(std::size_t), void (*release)(void*)) {
    allocate_memory = allocate;
    release_memory = release;
}

extern const KindEntry mpi_kind{
    Kind::mpi,
    "mpi",
    default_pages_only,
    false,
    [] {
        return allocate_memory == nullptr || release_memory == nullptr
                   ? std::optional<std::string>("this program set no MPI allocator")
                   : std::nullopt;
    },
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<MpiMemory>(request);
    },
};

}  // namespace slowpath::memory
