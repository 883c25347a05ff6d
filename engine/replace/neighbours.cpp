// SPDX-License-Identifier: Apache-2.0
#include "replace/neighbours.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

namespace slowpath::replace {

namespace {

constexpr char library_name[] = "libslowpath-coll.so";
/// What launchers give to each rank: Hydra and Slurm's PMI, PMIx, Open MPI, Slurm.
constexpr const char* rank_variables[] = {"PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
/// Ranks that were spawned into a job have numbers of their own, from 0.
constexpr char job_variable[] = "PMIX_NAMESPACE";
constexpr int most_ranks = 1024;
constexpr int deepest = 32;
constexpr int tries = 20;
constexpr long try_ns = 50'000'000;

/// A file of /proc, in pieces: environments and maps have any length.
class Pieces {
  public:
    Pieces(long pid, const char* name) {
        char path[64];
        std::snprintf(path, sizeof path, "/proc/%ld/%s", pid, name);
        file_ = open(path, O_RDONLY | O_CLOEXEC);
    }
    Pieces(const Pieces&) = delete;
    Pieces& operator=(const Pieces&) = delete;
    ~Pieces() {
        if (file_ >= 0) close(file_);
    }

    /// Calls take(piece, length) at each piece that ends with `end`; a longer one than fits comes without its
    /// rest.
    /// @param take Returns false to stop.
    template <class Take>
    void each(char end, const Take& take) {
        std::size_t used = 0;
        char block[2048];
        for (ssize_t got = 0; file_ >= 0 && (got = read(file_, block, sizeof block)) > 0;)
            for (ssize_t at = 0; at < got; ++at) {
                const bool is_end = block[at] == end;
                if (!is_end && used + 1 < sizeof piece_) piece_[used++] = block[at];
                if (!is_end) continue;
                piece_[used] = '\0';
                if (!take(piece_, used)) return;
                used = 0;
            }
    }

  private:
    int file_;
    char piece_[4096];
};

/// The value of a variable a process was started with, into `value`; false: it has none, or is not ours to
/// read.
bool started_with(long pid, const char* variable, char* value, std::size_t room) {
    const std::size_t length = std::strlen(variable);
    bool is_there = false;
    Pieces(pid, "environ").each('\0', [&](const char* one, std::size_t) {
        is_there = std::strncmp(one, variable, length) == 0 && one[length] == '=';
        if (is_there) std::snprintf(value, room, "%s", one + length + 1);
        return !is_there;
    });
    return is_there;
}

bool has_library(long pid) {
    bool is_there = false;
    Pieces(pid, "maps").each('\n', [&](const char* line, std::size_t) {
        is_there = std::strstr(line, library_name) != nullptr;
        return !is_there;
    });
    return is_there;
}

/// 0: there is no such process.
long parent_of(long pid) {
    long parent = 0;
    Pieces(pid, "stat").each('\n', [&](const char* line, std::size_t) {
        // Behind the name, which may hold anything (proc_pid_stat(5)).
        const char* const name_end = std::strrchr(line, ')');
        if (name_end != nullptr) std::sscanf(name_end + 1, " %*c %ld", &parent);
        return false;
    });
    return parent;
}

struct Job {
    const char* variable = nullptr;  ///< of ranks; null: no launcher gave one
    char rank[64] = "";
    char name[128] = "";
    long launcher = 0;  ///< of the ranks on this node
};

Job own_job() {
    Job job;
    for (const char* const one : rank_variables) {
        const char* const value = std::getenv(one);
        if (value == nullptr) continue;
        job.variable = one;
        std::snprintf(job.rank, sizeof job.rank, "%s", value);
        break;
    }
    if (job.variable == nullptr) return job;
    if (const char* const name = std::getenv(job_variable))
        std::snprintf(job.name, sizeof job.name, "%s", name);
    // Scripts around a rank's program have its variables, too.
    char value[sizeof job.rank];
    job.launcher = getppid();
    for (int step = 0; step < deepest && job.launcher > 1; ++step) {
        if (!started_with(job.launcher, job.variable, value, sizeof value) ||
            std::strcmp(value, job.rank) != 0)
            break;
        job.launcher = parent_of(job.launcher);
    }
    return job;
}

bool is_below(long pid, long launcher) {
    for (int step = 0; step < deepest && pid > 1; ++step) {
        pid = parent_of(pid);
        if (pid == launcher) return true;
    }
    return false;
}

/// Of each rank: some process of it has the library (the program), or none has.
struct Ranks {
    int number[most_ranks];
    bool has[most_ranks];
    int count = 0;

    void note(int rank, bool has_it) {
        for (int i = 0; i < count; ++i)
            if (number[i] == rank) {
                has[i] = has[i] || has_it;
                return;
            }
        if (count == most_ranks) return;
        number[count] = rank;
        has[count++] = has_it;
    }
};

void look(const Job& job, Ranks& ranks) {
    DIR* const processes = opendir("/proc");
    if (processes == nullptr) return;
    while (const dirent* const entry = readdir(processes)) {
        const long pid = std::strtol(entry->d_name, nullptr, 10);
        char rank[sizeof job.rank];
        char name[sizeof job.name] = "";
        if (pid <= 1 || !started_with(pid, job.variable, rank, sizeof rank)) continue;
        started_with(pid, job_variable, name, sizeof name);
        if (std::strcmp(name, job.name) != 0 || !is_below(pid, job.launcher)) continue;
        ranks.note(std::atoi(rank), has_library(pid));
    }
    closedir(processes);
}

Neighbours judge(const Job& job, const Ranks& ranks) {
    Neighbours found;
    const int own = std::atoi(job.rank);
    for (int i = 0; i < ranks.count; ++i) {
        if (!ranks.has[i]) {
            found.all_have_library = false;
            found.without = ranks.number[i];
        } else if (ranks.number[i] < own) {
            found.is_first = false;
        }
    }
    return found;
}

}  // namespace

Neighbours neighbours() {
    const Job job = own_job();
    if (job.variable == nullptr) return {};
    Neighbours found;
    for (int i = 0; i < tries; ++i) {
        Ranks ranks;
        look(job, ranks);
        found = judge(job, ranks);
        if (found.all_have_library) return found;
        // A rank that has not begun its program looks like one without the library.
        const timespec pause{0, try_ns};
        nanosleep(&pause, nullptr);
    }
    return found;
}

}  // namespace slowpath::replace
