// SPDX-License-Identifier: Apache-2.0
/// The strips of other ranks in this rank's address space, by CUDA's handles: where each panel of k stands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cannon/gpu/stage.hpp"

namespace slowpath::cannon::gpu {

/// Where the panel of one step is read.
struct PanelAddress {
    CudaDevicePointer pointer = 0;
    bool own = false;  ///< it stands in this rank's own memory
};

/// Every rank keeps the strips that its step 0 needs for good, so that any panel can be read from the rank
/// that started with it: no chain of neighbours, and one synchronisation, before the first read.
class Peers {
  public:
    /// Collective.  Opens what this rank will read; open_failed() says when that can't be.
    Peers(const Cuda& cuda, const Layout& layout, Element element, MPI_Comm communicator,
          const DeviceStrips& strips);
    ~Peers();
    Peers(const Peers&) = delete;
    Peers& operator=(const Peers&) = delete;

    const std::optional<std::string>& open_failed() const { return open_failed_; }
    PanelAddress a(int k) const;
    PanelAddress b(int k) const;

  private:
    struct Strip {
        CudaDevicePointer pointer = 0;
        bool own = false;
    };
    void open_all(const std::vector<IpcHandle>& handles, const DeviceStrips& strips);
    Strip open(int rank, std::size_t which, CudaDevicePointer mine, const std::vector<IpcHandle>& handles);

    const Cuda& cuda_;
    Layout layout_;
    std::int64_t element_bytes_;
    int rank_ = 0;
    std::vector<Strip> a_, b_;  ///< by class
    std::optional<std::string> open_failed_;
};

}  // namespace slowpath::cannon::gpu
