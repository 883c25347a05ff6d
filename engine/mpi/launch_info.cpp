// SPDX-License-Identifier: Apache-2.0
#include "mpi/launch_info.hpp"

#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "core/json.hpp"

namespace slowpath::mpi {
namespace {

/// Hydra and other PMI-1 launchers, Open MPI and PRRTE, PMIx, Slurm: step first, since a batch script that is
/// no step has the job's numbers.
constexpr std::array rank_variables{"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
constexpr std::array size_variables{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
                                    "SLURM_NTASKS"};
/// Hydra, Open MPI and PRRTE, PALS, Slurm.
constexpr std::array node_rank_variables{"MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "PALS_LOCAL_RANKID",
                                         "SLURM_LOCALID"};

template <std::size_t N>
std::optional<int> first_number(const std::array<const char*, N>& variables) {
    for (const char* const variable : variables) {
        const char* const text = std::getenv(variable);
        if (text == nullptr) continue;
        int number = 0;
        const auto [end, error] = std::from_chars(text, text + std::strlen(text), number);
        if (error == std::errc{} && *end == '\0') return number;
    }
    return std::nullopt;
}

/// The CPUs this process may run on as "0-3,8"; nullopt when the system does not say.
std::optional<std::string> allowed_cpus() {
    cpu_set_t cpus;
    if (sched_getaffinity(0, sizeof cpus, &cpus) != 0) return std::nullopt;
    std::string list;
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &cpus)) continue;
        int last = cpu;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, &cpus)) ++last;
        list += (list.empty() ? "" : ",") + std::to_string(cpu);
        if (last > cpu) list += "-" + std::to_string(last);
        cpu = last;
    }
    return list;
}

}  // namespace

std::string host_name() {
    std::array<char, 256> name{};
    return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown host";
}

RankValues rank_values(const Calibration& calibration) {
    unsigned cpu = 0, node = 0;
    const bool known = syscall(SYS_getcpu, &cpu, &node, nullptr) == 0;
    const std::optional<std::string> allowed = allowed_cpus();
    return {json_text(host_name()),
            std::to_string(getpid()),
            allowed ? json_text(*allowed) : "null",
            known ? std::to_string(cpu) : "null",
            known ? std::to_string(node) : "null",
            std::to_string(calibration.quantum_ns),
            std::to_string(calibration.overhead_ns),
            std::to_string(calibration.max_gap_ns),
            std::to_string(claimed_resolution_ns()),
            json_number(MPI_Wtick()),
            json_text(clock_source())};
}

std::optional<int> rank_from_environment() {
    return first_number(rank_variables);
}

std::optional<int> node_rank_from_environment() {
    return first_number(node_rank_variables);
}

std::optional<int> size_from_environment() {
    return first_number(size_variables);
}

}  // namespace slowpath::mpi
