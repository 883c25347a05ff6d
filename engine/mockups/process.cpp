// SPDX-License-Identifier: Apache-2.0
#include "mockups/process.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "mockups/calls.hpp"

namespace slowpath::mockups {

namespace {

// Below 32767, which every library has (MPI-4.1 section 9.1.2, MPI_TAG_UB).
constexpr int first_tag = 1;
constexpr int words_of_tags = 16;
constexpr int first_self_tag = 2048;
constexpr unsigned self_tags = 16384;

const std::array<MPI_Comm, 2> where_errors_go{MPI_COMM_WORLD, MPI_COMM_SELF};

using Tags = std::array<std::uint64_t, words_of_tags>;

struct Process {
    MPI_Comm ours = MPI_COMM_NULL;
    MPI_Comm alone = MPI_COMM_NULL;
    bool is_begun = false;
    bool is_usable = false;
    bool is_multiple = false;
    std::mutex asking;  ///< collectives on `alone`, one at a time
    std::mutex claiming;
    std::mutex changing;  ///< free_tags
    Tags free_tags{};
    std::atomic<unsigned> self_messages{0};
};

Process& process() {
    static Process one;
    return one;
}

/// Not MPI_Comm_dup: it would call the copy functions of the program's own attributes.
MPI_Comm same_ranks(MPI_Comm of) {
    MPI_Comm made = MPI_COMM_NULL;
    if (SLOWPATH_MPI(Comm_split)(of, 0, 0, &made) != MPI_SUCCESS) return MPI_COMM_NULL;
    SLOWPATH_MPI(Comm_set_errhandler)(made, MPI_ERRORS_RETURN);
    return made;
}

}  // namespace

bool begin() {
    Process& one = process();
    if (one.is_begun) return one.is_usable;
    one.is_begun = true;
    one.free_tags.fill(~std::uint64_t{0});
    one.ours = same_ranks(MPI_COMM_WORLD);
    one.alone = same_ranks(MPI_COMM_SELF);
    int level = MPI_THREAD_SINGLE;
    SLOWPATH_MPI(Query_thread)(&level);
    // Ranks may differ in their thread level, and have to agree on who needs tags.
    const std::array<int, 2> mine{one.ours == MPI_COMM_NULL || one.alone == MPI_COMM_NULL,
                                  level == MPI_THREAD_MULTIPLE};
    std::array<int, 2> any{1, 1};
    const int code = SLOWPATH_MPI(Allreduce)(mine.data(), any.data(), 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    one.is_usable = code == MPI_SUCCESS && any[0] == 0;
    one.is_multiple = any[1] != 0;
    return one.is_usable;
}

MPI_Comm ours() {
    return process().ours;
}

bool reduces(MPI_Op op, MPI_Datatype type) {
    Process& one = process();
    char nothing = 0;
    const std::scoped_lock lock(one.asking);
    return SLOWPATH_MPI(Allreduce)(MPI_IN_PLACE, &nothing, 0, type, op, one.alone) == MPI_SUCCESS;
}

ErrorsReturned::ErrorsReturned() {
    if (process().is_multiple) return;
    for (std::size_t i = 0; i < before_.size(); ++i) {
        SLOWPATH_MPI(Comm_get_errhandler)(where_errors_go[i], &before_[i]);
        SLOWPATH_MPI(Comm_set_errhandler)(where_errors_go[i], MPI_ERRORS_RETURN);
    }
}

ErrorsReturned::~ErrorsReturned() {
    for (std::size_t i = 0; i < before_.size(); ++i) {
        if (before_[i] == MPI_ERRHANDLER_NULL) continue;
        SLOWPATH_MPI(Comm_set_errhandler)(where_errors_go[i], before_[i]);
        SLOWPATH_MPI(Errhandler_free)(&before_[i]);
    }
}

int claim_tag(MPI_Comm of) {
    Process& one = process();
    if (!one.is_multiple) return first_tag;
    // A thread that finds another one claiming has nothing to offer: both waiting could wait for each other.
    const std::unique_lock claiming(one.claiming, std::try_to_lock);
    Tags mine{};
    if (claiming.owns_lock()) {
        const std::scoped_lock lock(one.changing);
        mine = one.free_tags;
    }
    Tags common{};
    if (SLOWPATH_MPI(Allreduce)(mine.data(), common.data(), words_of_tags, MPI_UINT64_T, MPI_BAND, of) !=
        MPI_SUCCESS)
        return -1;
    for (int word = 0; word < words_of_tags; ++word) {
        std::uint64_t& there = common[static_cast<std::size_t>(word)];
        if (there == 0) continue;
        const int bit = __builtin_ctzll(there);
        const std::scoped_lock lock(one.changing);
        one.free_tags[static_cast<std::size_t>(word)] &= ~(std::uint64_t{1} << bit);
        return first_tag + word * 64 + bit;
    }
    return -1;
}

void release_tag(int tag) {
    Process& one = process();
    if (!one.is_multiple || tag < first_tag) return;
    const auto at = static_cast<unsigned>(tag - first_tag);
    const std::scoped_lock lock(one.changing);
    one.free_tags[at / 64] |= std::uint64_t{1} << (at % 64);
}

int self_tag() {
    return first_self_tag + static_cast<int>(process().self_messages++ % self_tags);
}

}  // namespace slowpath::mockups
