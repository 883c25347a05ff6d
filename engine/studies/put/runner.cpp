// SPDX-License-Identifier: Apache-2.0
#include "put/runner.hpp"

#include "put/layer_runner.hpp"
#include "put/mpi_runner.hpp"
#include "put/openshmem.hpp"

namespace slowpath::put {

Made make_runner(const Config& config, const Layout& layout, const Pair& pair, const OriginMemory& origin) {
    try {
        if (config.uses_mpi()) return make_mpi_runner(config, layout, pair, origin);
        if (config.uses_openshmem()) return make_openshmem_runner(config, layout, pair, origin);
        return make_layer_runner(config, layout, pair, origin);
    } catch (const std::exception& error) {
        return {nullptr, error.what()};
    }
}

}  // namespace slowpath::put
