// SPDX-License-Identifier: Apache-2.0
#include "watch/groups.hpp"

#include "watch/library.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit Word world_group = 0;  ///< MPI_COMM_WORLD's
constinit bool has_world_group = false;
constinit std::int32_t world_rank = -1, world_size = -1;

/// Sessions that are not finalized, of a program without MPI_COMM_WORLD.
constexpr std::size_t most_sessions = 16;
constinit Word sessions[most_sessions]{};
constinit std::size_t session_count = 0;

/// Ranks 0, 1, ... and what they are in the world.
constinit std::int32_t* ranks = nullptr;
constinit std::int32_t* translated = nullptr;
constinit std::size_t room = 0;

bool make_room(std::size_t count) {
    if (count <= room) return true;
    unmap_rows(ranks, room);
    unmap_rows(translated, room);
    ranks = map_rows<std::int32_t>(count);
    translated = map_rows<std::int32_t>(count);
    room = ranks != nullptr && translated != nullptr ? count : 0;
    for (std::size_t rank = 0; rank < room; ++rank) ranks[rank] = static_cast<std::int32_t>(rank);
    return room != 0;
}

/// Runs a function of MPI with words, if there is one. @return Whether it succeeded.
template <typename... Words>
bool ask(const char* name, Words... words) {
    void* const asked = function(name);
    return asked != nullptr && call(asked, static_cast<Word>(words)...) == 0;
}

template <typename Out>
Word out(Out* place) {
    return reinterpret_cast<Word>(place);
}

void free_group(Word group) {
    ask("Group_free", out(&group));
}

/// The group of all while it is asked. That of a session is freed at once: a session may have to be free of
/// groups when the program finalizes it (MPICH's strict_finalize).
class WorldGroup {
  public:
    WorldGroup() {
        static constexpr char world_set[] = "mpi://WORLD";
        if (has_world_group)
            group_ = world_group;
        else
            is_taken_ = session_count > 0 && ask("Group_from_session_pset", sessions[session_count - 1],
                                                 out(world_set), out(&group_));
    }
    WorldGroup(const WorldGroup&) = delete;
    WorldGroup& operator=(const WorldGroup&) = delete;
    ~WorldGroup() {
        if (is_taken_) free_group(group_);
    }

    bool is_there() const { return has_world_group || is_taken_; }
    Word group() const { return group_; }

  private:
    Word group_ = 0;
    bool is_taken_ = false;
};

}  // namespace

int communicator_int(const char* name, Word communicator) {
    int value = -1;
    return ask(name, communicator, out(&value)) ? value : -1;
}

bool begin_world_group(World world) {
    world_group = 0;
    has_world_group =
        world == World::of_communicator && ask("Comm_group", library().comm_world, out(&world_group));
    world_rank = world_size = -1;
    const WorldGroup all;
    if (!all.is_there()) return false;
    int value = -1;
    if (ask("Group_rank", all.group(), out(&value))) world_rank = value;
    if (ask("Group_size", all.group(), out(&value))) world_size = value;
    return true;
}

void session_begun(Word session) {
    if (session_count < most_sessions) sessions[session_count++] = session;
}

void session_ends(Word session) {
    for (std::size_t at = 0; at < session_count; ++at)
        if (sessions[at] == session) {
            sessions[at] = sessions[--session_count];
            return;
        }
}

std::int32_t world_group_rank() {
    return world_rank;
}

std::int32_t world_group_size() {
    return world_size;
}

std::span<const std::int32_t> members_of_group(Word group) {
    int size = 0;
    const WorldGroup all;
    if (!all.is_there() || !ask("Group_size", group, out(&size)) || size <= 0 ||
        !make_room(static_cast<std::size_t>(size)))
        return {};
    if (!ask("Group_translate_ranks", group, static_cast<unsigned>(size), out(ranks), all.group(),
             out(translated)))
        return {};
    for (int rank = 0; rank < size; ++rank)
        if (translated[rank] < 0) translated[rank] = -1;
    return {translated, static_cast<std::size_t>(size)};
}

std::span<const std::int32_t> members_of(Word communicator, bool is_remote) {
    Word group = 0;
    if (!ask(is_remote ? "Comm_remote_group" : "Comm_group", communicator, out(&group))) return {};
    const std::span<const std::int32_t> members = members_of_group(group);
    free_group(group);
    return members;
}

}  // namespace slowpath::watch
