// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/device.hpp"

#include <array>

#include "cannon/gpu/cublas.hpp"
#include "core/json.hpp"
#include "memory/gpu_driver.hpp"
#include "mpi/agree.hpp"

namespace slowpath::cannon::gpu {
namespace {

std::optional<std::string> local_obstacle(const Context& context, std::int64_t most_on_a_node) {
    try {
        const Cuda& cuda = Cuda::loaded();
        if (most_on_a_node > cuda.driver().device_count())
            return std::to_string(most_on_a_node) + " ranks on a node that shows " +
                   std::to_string(cuda.driver().device_count()) +
                   " GPUs to them; memory=device needs one for each rank";
        cuda.driver().use(context.session.node_rank(), 0);
        Cublas::loaded();
    } catch (const std::exception& error) {
        return error.what();
    }
    return std::nullopt;
}

std::string bus_ids(const std::vector<std::string>& ids) {
    std::vector<std::string> quoted;
    for (const std::string& id : ids) quoted.push_back(json_text(id));
    return json_array(quoted);
}

}  // namespace

std::optional<std::string> take_device(Context& context) {
    const std::array mine{static_cast<std::int64_t>(context.session.node_rank()) + 1};
    const std::int64_t most = mpi::reduce(context.session.control(), mine, MPI_MAX)[0];
    return mpi::first_text(context.session.control(), local_obstacle(context, most));
}

std::string gpu_note(const Context& context, std::uint32_t cell) {
    const memory::GpuDriver* const driver = memory::GpuDriver::instance();
    if (driver == nullptr) return {};
    const memory::GpuDevice device = driver->describe(context.session.node_rank());
    JsonObject gpu, note;
    gpu.text("driver", driver->prefix()).integer("ordinal", device.ordinal);
    gpu.integer("visible", driver->device_count());
    gpu.text_or_null("name", device.name).text_or_null("bus_id", device.bus_id);
    gpu.raw("bytes", device.bytes ? std::to_string(*device.bytes) : "null");
    gpu.raw("peers", device.peers ? bus_ids(*device.peers) : "null");
    const std::string rank = std::to_string(context.session.rank());
    note.text("text", "rank " + rank + " uses CUDA device " + std::to_string(device.ordinal) + " of " +
                          std::to_string(driver->device_count()) +
                          (device.name ? ", " + *device.name : std::string()) +
                          (device.bus_id ? ", " + *device.bus_id : std::string()));
    note.integer("cell", cell).integer("rank", context.session.rank()).raw("gpu", gpu.str());
    return "note " + note.fields() + "\n";
}

std::string cublas_note(const std::string& name, const Layout& layout, std::uint32_t cell) {
    JsonObject grid, library, event;
    grid.integer("rows", layout.rows).integer("columns", layout.columns).integer("steps", layout.steps());
    library.text("name", name).null("core").null("threads");
    library.text("file", Cublas::loaded().file()).text("compiled_for", SLOWPATH_CANNON_FLAGS);
    event.text("text", "BLAS " + name).integer("cell", cell);
    event.raw("blas", library.str()).raw("grid", grid.str());
    return "note " + event.fields() + "\n";
}

}  // namespace slowpath::cannon::gpu
