// SPDX-License-Identifier: Apache-2.0
/// What a rank holds on its device for one cell.
#pragma once

#include "cannon/gpu/upload.hpp"

namespace slowpath::cannon::gpu {

/// A multiplication and a copy a step; on the timeline also what the processor does.
inline std::size_t most_on_device(const Layout& layout) {
    return 2 * static_cast<std::size_t>(layout.steps());
}
inline std::size_t most_in_all(const Layout& layout) {
    return 2 * most_on_device(layout) + 4;
}

struct Held {
    Held(const Cuda& cuda, const Layout& layout, Element element)
        : compute(cuda),
          copies(cuda),
          blas(Cublas::loaded(), compute),
          strips(cuda, layout, element),
          staging(cuda, staging_bytes(layout)),
          timer(cuda, most_on_device(layout)) {}

    Stream compute, copies;
    CublasHandle blas;
    DeviceStrips strips;
    Staging staging;
    Timer timer;
};

}  // namespace slowpath::cannon::gpu
