// SPDX-License-Identifier: Apache-2.0
#include "nccl/nccl.hpp"

#include <algorithm>
#include <climits>
#include <map>

#include "core/text_table.hpp"
#include "mpi/agree.hpp"
#include "nccl/calls.hpp"
#include "nccl/first_use.hpp"

namespace slowpath::nccl {
namespace {

std::optional<std::string> obstacle(const Assignment& assignment, std::optional<int> ranks) {
    const Config config = configure(assignment);
    const std::int64_t most = config.message_bytes / element_bytes * ranks.value_or(1);
    if (most <= INT_MAX) return std::nullopt;
    return std::to_string(most) +
           " elements over all ranks are more than an int counts; take a shorter message";
}

/// MPI is there from the start and says nothing of how it makes a communicator.
bool yields(const Assignment& assignment, std::string_view metric) {
    const std::string library = assignment.text("library");
    const bool nccl = library == "nccl", nvshmem = library == "nvshmem";
    if (metric == "gpu_load_s" || metric == "gpu_unique_id_s" || metric == "gpu_share_id_s")
        return nccl || nvshmem;
    if (metric == "gpu_buffers_s") return nvshmem;
    return nccl || (metric != "gpu_runtime_s" && !metric.starts_with("gpu_init_")) || metric == "gpu_init_s";
}

void measure(Context& context, const Config& config, const Call& call, int device,
             std::span<GroupMember> members) {
    if (config.first_use)
        measure_first_use(context, config, call, device, members);
    else
        measure_calls(context, config, call, device, members);
}

void run_together(Context& context, std::span<GroupMember> members) {
    const Config config = configure(*members.front().assignment);
    const mpi::Session& session = context.session;
    int device = 0;
    std::optional<std::string> reason = obstacle(*members.front().assignment, session.size());
    if (!reason) reason = take_device(context, device);
    const Call call{config.operation, config.message_bytes / element_bytes, session.size(), session.rank()};
    if (!reason) return measure(context, config, call, device, members);
    for (GroupMember& member : members) skip(member, *reason);
}

/// Of each sample the longest of all ranks.
std::optional<double> median_us(const CellNumbers& numbers, Phase phase) {
    std::map<std::pair<std::uint32_t, std::size_t>, double> longest_us;
    for (const Block& block : numbers.blocks) {
        if (block.header.phase != phase || block.header.part != static_cast<std::uint64_t>(Part::whole))
            continue;
        for (std::size_t i = 0; i < block.durations_ns.size(); ++i) {
            double& longest = longest_us[{block.header.allocation, i}];
            longest = std::max(longest, 1e-3 * static_cast<double>(block.durations_ns[i]));
        }
    }
    std::vector<double> times;
    for (const auto& [sample, time_us] : longest_us) times.push_back(time_us);
    return median(times);
}

TableRow tabulate(const Assignment& assignment, const CellNumbers& numbers) {
    return {{"Size", "First(us)", "Later(us)"},
            assignment.integer("message_bytes"),
            {median_us(numbers, Phase::first), median_us(numbers, Phase::steady)}};
}

}  // namespace

const Experiment experiment{
    .name = "nccl",
    .summary =
        "MPI on device memory next to NCCL: first use by steps, first calls with a buffer, later calls",
    .min_ranks = 2,
    .parameters = parameters,
    .metrics = metrics,
    .swept = "message_bytes",
    .validate = [](const Assignment& assignment) { static_cast<void>(configure(assignment)); },
    .obstacle = obstacle,
    .yields = yields,
    .derive = [](const Assignment&, std::optional<int>, JsonObject&) {},
    .run = nullptr,
    .tabulate = tabulate,
    .interleaved_by = "library",
    .run_together = run_together,
};

}  // namespace slowpath::nccl
