// SPDX-License-Identifier: Apache-2.0
// Managed memory: cuMemAllocManaged, as cudaMallocManaged does. Its pages move to whoever uses them: write()
// and read() go through the driver, which leaves them where a kernel would; host_view() pulls them to the
// CPU.
#include "memory/cuda_memory.hpp"
#include "memory/registry.hpp"

namespace slowpath::memory {
namespace {

constexpr unsigned int attach_global = 1;  // CU_MEM_ATTACH_GLOBAL, the default of cudaMallocManaged

class ManagedMemory final : public CudaMemory {
  public:
    explicit ManagedMemory(const Request& request) : CudaMemory(request) {
        driver_.check(driver_.call().cuMemAllocManaged(&pointer_, cuda_length(bytes_), attach_global),
                      "cuMemAllocManaged", bytes_);
    }

    std::byte* host_view() const override { return base(); }
    Observed observe() const override { return observe_cuda("cuda:managed"); }
};

}  // namespace

extern const KindEntry managed_kind{
    Kind::managed,
    "managed",
    cuda_unavailable,
    [](const Request& request) -> std::unique_ptr<Allocation> {
        return std::make_unique<ManagedMemory>(request);
    },
};

}  // namespace slowpath::memory
