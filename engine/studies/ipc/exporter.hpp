// SPDX-License-Identifier: Apache-2.0
/// The process that allocates and exports.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "core/address_book.hpp"
#include "core/clock.hpp"
#include "ipc/channel.hpp"
#include "ipc/driver.hpp"
#include "ipc/importer.hpp"
#include "ipc/parameters.hpp"
#include "record/block.hpp"

namespace slowpath::ipc {

/// One fresh allocation and what became of it.
struct Sharing {
    std::uint32_t index;  ///< in its cell
    Phase phase;          ///< warmup or first; what follows the first close is steady
    CudaDevicePointer pointer;
    CudaDevicePointer range_base;  ///< of the driver's own account: cuMemGetAddressRange
    std::size_t range_bytes;
    bool reused_address;          ///< it stands where an earlier one of this process stood
    bool reused_mapping_address;  ///< the importer's mapping does
    Imported imported;            ///< with the exporter's own step filled in
};

class Exporter {
  public:
    /// @throws EnvironmentFailure: no driver.
    explicit Exporter(Peer& importer) : importer_(importer), driver_(driver()) {}

    /// Why this cell can't be measured here; empty if it can.
    std::string obstacle(const Config& config) const;

    /// Share config.live fresh allocations, config.warmups + config.repetitions times; all are free at the
    /// end.
    /// @param done Called with each allocation after its last step, outside of any timed region.
    /// @throws memory::Error, EnvironmentFailure.
    void run(const Config& config, const std::function<void(const Sharing&)>& done);

  private:
    using Generation = std::vector<CudaDevicePointer>;

    std::vector<Sharing> allocate(const Config& config, std::int64_t repetition, Generation& kept);
    Shared export_one(const Config& config, Sharing& sharing);
    void free_all(std::deque<Generation>& generations, std::size_t left, std::size_t bytes);

    Peer& importer_;
    const Driver& driver_;
    MonotonicClock clock_;
    AddressBook seen_;
    AddressBook seen_mappings_;
};

}  // namespace slowpath::ipc
