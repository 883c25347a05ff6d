// SPDX-License-Identifier: Apache-2.0
/// Samples of this rank by part, until they go into the record.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "experiment/context.hpp"
#include "nccl/part.hpp"

namespace slowpath::nccl {

class Series {
  public:
    void add(Part part, std::int64_t begin_ns, std::int64_t end_ns);
    /// Of Part::whole; 0: there is none.
    std::int64_t size() const;
    std::vector<std::int64_t> durations_ns(Part part) const;

    struct At {
        std::uint32_t cell = 0;
        Phase phase = Phase::steady;
        std::uint32_t allocation = 0;
        bool reused_address = false;
    };
    /// A block for each part.
    void write(const Context& context, const At& at, CellRecord& record) const;

  private:
    struct Samples {
        std::vector<std::int64_t> durations_ns, begins_ns;
    };
    std::map<Part, Samples> parts_;
};

}  // namespace slowpath::nccl
