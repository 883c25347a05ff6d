// SPDX-License-Identifier: Apache-2.0
#include "p2p/device.hpp"

#include "core/json.hpp"
#include "memory/gpu.hpp"

namespace slowpath::p2p {
namespace {

/// nullptr for memory that needs no GPU, and where there is none.
const memory::GpuDriver* driver_for(const SideConfig& side) {
    return memory::needs_gpu(side.kind) ? memory::GpuDriver::instance() : nullptr;
}

std::string peers_json(const std::vector<std::string>& bus_ids) {
    std::vector<std::string> quoted;
    for (const std::string& id : bus_ids) quoted.push_back(json_text(id));
    return json_array(quoted);
}

std::string gpu_json(const memory::GpuDriver& driver, const memory::GpuDevice& device) {
    JsonObject gpu;
    gpu.text("driver", driver.prefix()).integer("ordinal", device.ordinal);
    gpu.integer("visible", driver.device_count());
    gpu.text_or_null("name", device.name).text_or_null("bus_id", device.bus_id);
    if (device.bytes)
        gpu.unsigned_integer("bytes", *device.bytes);
    else
        gpu.null("bytes");
    if (device.peers)
        gpu.raw("peers", peers_json(*device.peers));
    else
        gpu.null("peers");
    return gpu.str();
}

/// The same in every launch, so that a report says it once.
std::string text_of(int rank, const memory::GpuDriver& driver, const memory::GpuDevice& device) {
    std::string text = "rank " + std::to_string(rank) + " uses " + driver.prefix() + " device " +
                       std::to_string(device.ordinal) + " of " + std::to_string(driver.device_count());
    if (device.name) text += ", " + *device.name;
    if (device.bus_id) text += ", " + *device.bus_id;
    return text;
}

}  // namespace

int device_for(const SideConfig& side, int node_rank) {
    const memory::GpuDriver* const driver = driver_for(side);
    if (driver == nullptr) return 0;
    return side.device.value_or(node_rank % driver->device_count());
}

std::optional<std::string> device_obstacle(const SideConfig& side) {
    const memory::GpuDriver* const driver = driver_for(side);
    if (driver == nullptr || side.device.value_or(0) < driver->device_count()) return std::nullopt;
    const int devices = driver->device_count();
    return "device " + std::to_string(*side.device) + ": only " + std::to_string(devices) +
           (devices == 1 ? " device" : " devices");
}

void record_gpu(Context& context, const SideConfig& side) {
    const memory::GpuDriver* const driver = driver_for(side);
    if (driver == nullptr) return;
    const int rank = context.session.rank();
    const auto device = driver->describe(device_for(side, context.session.node_rank()));
    JsonObject note;
    note.text("text", text_of(rank, *driver, device)).integer("cell", context.cell).integer("rank", rank);
    note.raw("gpu", gpu_json(*driver, device));
    context.record.events += "note " + note.fields() + "\n";
}

}  // namespace slowpath::p2p
