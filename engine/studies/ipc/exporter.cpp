// SPDX-License-Identifier: Apache-2.0
#include "ipc/exporter.hpp"

#include <algorithm>

#include "core/pattern.hpp"

namespace slowpath::ipc {

std::string Exporter::obstacle(const Config& config) const {
    const int last = std::max(config.exporter_device, config.importer_device);
    const int count = driver_.cuda.device_count();
    if (last < count) return {};
    return "there is no device " + std::to_string(last) + ": the driver shows " + std::to_string(count) +
           " (numbered from 0)";
}

void Exporter::run(const Config& config, const std::function<void(const Sharing&)>& done) {
    const auto bytes = static_cast<std::size_t>(config.total_bytes);
    driver_.cuda.use(config.exporter_device, bytes);
    std::deque<Generation> generations;
    try {
        for (std::int64_t repetition = 0; repetition < config.warmups + config.repetitions; ++repetition) {
            std::vector<Sharing> sharings = allocate(config, repetition, generations.emplace_back());
            free_all(generations, static_cast<std::size_t>(config.keep) + 1, bytes);
            ImportRequest request{config.importer_device, bytes, config.access_bytes, {}};
            for (Sharing& sharing : sharings) request.shared.push_back(export_one(config, sharing));
            const std::vector<Imported> imported = import_all(importer_, request);
            for (std::size_t i = 0; i < sharings.size(); ++i) {
                Sharing& sharing = sharings[i];
                const StepTime exported =
                    sharing.imported.times[static_cast<std::size_t>(Step::export_handle)];
                sharing.imported = imported.at(i);
                sharing.imported.times[static_cast<std::size_t>(Step::export_handle)] = exported;
                sharing.reused_mapping_address = seen_mappings_.note(sharing.imported.address, bytes);
                done(sharing);
            }
            free_all(generations, static_cast<std::size_t>(config.keep), bytes);
        }
    } catch (...) {
        // What can be freed is: the next cell needs the memory. The first error is the one to report.
        try {
            free_all(generations, 0, bytes);
        } catch (const memory::Error&) {
        }
        throw;
    }
    free_all(generations, 0, bytes);
}

std::vector<Sharing> Exporter::allocate(const Config& config, std::int64_t repetition, Generation& kept) {
    const auto bytes = static_cast<std::size_t>(config.total_bytes);
    std::vector<Sharing> fresh;
    for (std::int64_t i = 0; i < config.live; ++i) {
        Sharing sharing{};
        sharing.index = static_cast<std::uint32_t>(repetition * config.live + i);
        sharing.phase = repetition < config.warmups ? Phase::warmup : Phase::first;
        driver_.cuda.check(driver_.cuda.call().cuMemAlloc_v2(&sharing.pointer, bytes), "cuMemAlloc", bytes);
        kept.push_back(sharing.pointer);
        driver_.cuda.check(
            driver_.call.cuMemGetAddressRange_v2(&sharing.range_base, &sharing.range_bytes, sharing.pointer),
            "cuMemGetAddressRange", bytes);
        sharing.reused_address = seen_.note(sharing.pointer, bytes);
        fresh.push_back(sharing);
    }
    return fresh;
}

Shared Exporter::export_one(const Config& config, Sharing& sharing) {
    const auto bytes = static_cast<std::size_t>(config.total_bytes);
    Shared shared{};
    shared.seed = mix(sharing.pointer, sharing.index);
    std::vector<std::byte> pattern(static_cast<std::size_t>(config.access_bytes));
    fill_pattern(pattern, shared.seed, 0, false);
    const auto& call = driver_.cuda.call();
    driver_.cuda.check(call.cuMemcpyHtoD_v2(sharing.pointer, pattern.data(), pattern.size()), "cuMemcpyHtoD",
                       bytes);
    driver_.cuda.check(call.cuCtxSynchronize(), "cuCtxSynchronize", bytes);
    CudaResult code = 0;
    sharing.imported.times[static_cast<std::size_t>(Step::export_handle)] =
        timed(clock_, [&] { code = driver_.call.cuIpcGetMemHandle(&shared.handle, sharing.pointer); });
    driver_.cuda.check(code, "cuIpcGetMemHandle", bytes);
    return shared;
}

void Exporter::free_all(std::deque<Generation>& generations, std::size_t left, std::size_t bytes) {
    while (generations.size() > left) {
        const Generation oldest = std::move(generations.front());
        generations.pop_front();
        for (const CudaDevicePointer pointer : oldest)
            driver_.cuda.check(driver_.cuda.call().cuMemFree_v2(pointer), "cuMemFree", bytes);
    }
}

}  // namespace slowpath::ipc
