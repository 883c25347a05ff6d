// SPDX-License-Identifier: Apache-2.0
/// The inputs onto the device, some columns at a time, so that the CPU never holds a strip.
#pragma once

#include <functional>

#include "cannon/gpu/stage.hpp"
#include "cannon/inputs.hpp"

namespace slowpath::cannon::gpu {

/// Some columns of a panel, column-major without gaps, as doubles.
struct Columns {
    const double* elements;
    std::int64_t first_row, rows;        ///< in the whole matrix
    std::int64_t first_column, columns;  ///< likewise
    std::int64_t at;                     ///< the first element's position in the strip
};

/// What the CPU makes or takes at a time: it fits the caches of most processors.
inline constexpr std::size_t chunk_bytes = std::size_t{8} << 20;

/// Makes the strip of A of class `strip` and hands it over in chunks.
void each_chunk_of_a(const Inputs& inputs, const Layout& layout, int strip,
                     const std::function<void(const Columns&)>& use);
/// The same of B.
void each_chunk_of_b(const Inputs& inputs, const Layout& layout, int strip,
                     const std::function<void(const Columns&)>& use);

/// Makes the strips that this rank's step 0 needs.  Done when it returns.
/// @param staging At least chunk_bytes and a column.
void upload(const Cuda& cuda, const Inputs& inputs, const Layout& layout, Element element,
            const DeviceStrips& strips, const Staging& staging);

/// Bytes that `staging` needs.
std::size_t staging_bytes(const Layout& layout);

}  // namespace slowpath::cannon::gpu
