// SPDX-License-Identifier: Apache-2.0
#include "mpi/launch.hpp"

#include <mpi.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/clock.hpp"
#include "core/error.hpp"
#include "core/json.hpp"
#include "mpi/session.hpp"
#include "mpi/tags.hpp"

namespace slowpath::mpi {

namespace {

/// Hydra and other PMI-1 launchers, Open MPI and PRRTE, PMIx, Slurm: step first, since a batch script that is
/// no step has the job's numbers.
constexpr std::array rank_variables{"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
constexpr std::array size_variables{"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS",
                                    "SLURM_NTASKS"};

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

std::optional<int> size_from_environment() {
    return first_number(size_variables);
}

namespace {

std::int64_t loaded_ns = 0;
std::int64_t load_processor_ns = 0;

void note_loaded(int, char**, char**) {
    loaded_ns = clock_ns(CLOCK_MONOTONIC);
    load_processor_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

/// Called when all libraries are mapped and relocated, before any of their constructors (System V ABI, gABI
/// chapter 5, DT_PREINIT_ARRAY).
[[gnu::used, gnu::section(".preinit_array")]] void (*const note)(int, char**, char**) = note_loaded;

/// Field 22 of proc(5) /proc/pid/stat, in ticks since boot; the name in field 2 may hold blanks.
std::optional<std::int64_t> born_ns() {
    std::ifstream file("/proc/self/stat");
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto name_end = text.rfind(')');
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest(text.substr(name_end + 1));
    std::string field;
    for (int number = 3; number <= 22 && rest >> field; ++number) {
    }
    const long ticks_per_s = sysconf(_SC_CLK_TCK);
    if (!rest || ticks_per_s <= 0) return std::nullopt;
    const std::int64_t since_boot_ns = std::stoll(field) * (1'000'000'000 / ticks_per_s);
    return since_boot_ns - (clock_ns(CLOCK_BOOTTIME) - clock_ns(CLOCK_MONOTONIC));
}

}  // namespace

InitTimes process_times() {
    InitTimes times;
    times.load_processor_ns = load_processor_ns;
    times.loaded_ns = loaded_ns;
    times.born_ns = born_ns();
    return times;
}

namespace {

constexpr const char* variable = "SLOWPATH_THREAD_LEVEL";

struct Level {
    int value;
    std::string_view name;
};
/// Ascending, as the standard orders them.
constexpr std::array levels{Level{MPI_THREAD_SINGLE, "single"}, Level{MPI_THREAD_FUNNELED, "funneled"},
                            Level{MPI_THREAD_SERIALIZED, "serialized"},
                            Level{MPI_THREAD_MULTIPLE, "multiple"}};

const Level& named(std::string_view name) {
    const auto found =
        std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.name == name; });
    if (found != levels.end()) return *found;
    throw UsageError(std::string(variable) + "=" + std::string(name) +
                     " is no thread level; take single, funneled, serialized or multiple, or unset it");
}

std::string name_of(int value) {
    const auto found =
        std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.value == value; });
    return found == levels.end() ? std::to_string(value) : std::string(found->name);
}

}  // namespace

ThreadLevels initialise() {
    ThreadLevels found;
    int provided = 0;
    if (const char* const text = std::getenv(variable); text != nullptr && *text != '\0') {
        const Level& level = named(text);
        found.asked = level.name;
        check(MPI_Init_thread(nullptr, nullptr, level.value, &provided), "MPI_Init_thread");
    } else {
        check(MPI_Init(nullptr, nullptr), "MPI_Init");
    }
    check(MPI_Query_thread(&provided), "MPI_Query_thread");
    found.provided = name_of(provided);
    return found;
}

std::optional<std::string> too_low(const ThreadLevels& found) {
    const auto place = [](std::string_view name) {
        return std::find_if(levels.begin(), levels.end(), [&](const Level& l) { return l.name == name; });
    };
    if (!found.asked || place(found.provided) >= place(*found.asked)) return std::nullopt;
    return std::string(variable) + " asks for " + *found.asked + ", and the MPI library provides " +
           found.provided;
}

std::string own_program() {
    std::error_code failure;
    const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", failure);
    if (failure) throw EnvironmentFailure("can't read /proc/self/exe: " + failure.message());
    return path.string();
}

bool be_spawned() {
    MPI_Init(nullptr, nullptr);
    MPI_Comm parents = MPI_COMM_NULL;
    MPI_Comm_get_parent(&parents);
    const bool is_spawned = parents != MPI_COMM_NULL;
    if (is_spawned) MPI_Comm_disconnect(&parents);
    MPI_Finalize();
    return is_spawned;
}

namespace {

constexpr const char* first_peers_variable = "SLOWPATH_FIRST_PEERS";

}  // namespace

std::vector<int> peers_in_order(const std::string& order, int rank, int size) {
    std::vector<int> peers;
    if (order == "ascending") {
        for (int peer = 0; peer < size; ++peer)
            if (peer != rank) peers.push_back(peer);
        return peers;
    }
    int steps = 1;
    while (steps < size) steps *= 2;
    for (int step = 1; step < steps; ++step)
        if ((rank ^ step) < size) peers.push_back(rank ^ step);
    return peers;
}

std::vector<Contact> meet_in_order(MPI_Comm communicator, const std::string& order) {
    int rank = 0, size = 0;
    check(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
    const MonotonicClock clock;
    std::vector<Contact> contacts;
    for (const int peer : peers_in_order(order, rank, size)) {
        const std::int64_t mine = rank;
        std::int64_t theirs = -1;
        const std::int64_t begin_ns = clock.now_ns();
        const int code = MPI_Sendrecv(&mine, 1, MPI_INT64_T, peer, tag::first_peers, &theirs, 1, MPI_INT64_T,
                                      peer, tag::first_peers, communicator, MPI_STATUS_IGNORE);
        const std::int64_t end_ns = clock.now_ns();
        check(code, "MPI_Sendrecv");
        if (theirs != peer)
            throw std::runtime_error("the first message from rank " + std::to_string(peer) +
                                     " holds other bytes than it sent");
        contacts.push_back({peer, begin_ns, end_ns});
    }
    return contacts;
}

std::optional<FirstPeers> meet_peers(MPI_Comm world) {
    const char* const text = std::getenv(first_peers_variable);
    if (text == nullptr || *text == '\0') return std::nullopt;
    const std::string order = text;
    if (order != "ascending" && order != "xor")
        throw UsageError(std::string(first_peers_variable) + "=" + order +
                         " is no order; take ascending or xor, or unset it");
    return FirstPeers{order, meet_in_order(world, order)};
}

}  // namespace slowpath::mpi
