// SPDX-License-Identifier: Apache-2.0
/// An MPI of this process's own for tests of the recorder: it does nothing, and says that it is rank `rank`
/// of `size`. MPICH's handles and statuses.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "watch/call.hpp"

namespace fake_mpi {

using slowpath::watch::Call;
using slowpath::watch::Word;

struct World {
    int rank = 0;
    int size = 4;
    int thread_level = 0;
    /// Members of communicators by handle, world ranks; what is not here is the world.
    struct Members {
        Word handle;
        std::vector<int> ranks;
        std::vector<int> remote = {};  ///< of the other group, where it has one
    };
    std::vector<Members> communicators;
};
extern World world;

inline constexpr Word comm_world = 0x44000000, request_null = 0x2c000000, type_char = 0x4c000101;
inline constexpr int any_source = -2, any_tag = -1, proc_null = -1;

/// As MPICH's mpi.h has it.
struct Status {
    std::int32_t count_low = 0, count_high_and_cancelled = 0, source = 0, tag = 0, error = 0;
};
inline const Word status_ignore = 1;

/// Stands for a place. Any address will do: nothing is there to unwind, so that it stands alone.
inline const void* site_address(int site) {
    static char sites[4096];
    return &sites[site];
}

/// One call as the wrapper makes it.
/// @param does What MPI does, with the arguments as the recorder left them.
/// @param site Stands for the place of the call.
template <typename Does>
void call(Call number, std::initializer_list<Word> words, Does does, std::uint64_t ticks = 100, int site = 0);
void call(Call number, std::initializer_list<Word> words, int site = 0);

/// A local call (Family::local) as its wrapper counts it.
void count(Call number, int site = 0);

template <typename Value>
Word word(Value* place) {
    return reinterpret_cast<Word>(place);
}

}  // namespace fake_mpi

#include "watch/observer.hpp"
#include "watch/ticks.hpp"

template <typename Does>
void fake_mpi::call(Call number, std::initializer_list<Word> words, Does does, std::uint64_t ticks,
                    int site) {
    Word arguments[slowpath::watch::most_arguments] = {};
    int count = 0;
    for (const Word one : words) arguments[count++] = one;
    slowpath::watch::Observed seen{number, arguments, site_address(site), site_address(1)};
    slowpath::watch::Scratch* const scratch = slowpath::watch::before(seen);
    slowpath::watch::start_clock(seen);
    does(arguments);
    if (!seen.is_untimed) seen.end_ticks = seen.start_ticks + ticks;
    slowpath::watch::after(seen, scratch);
}
