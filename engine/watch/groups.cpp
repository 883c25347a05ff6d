// SPDX-License-Identifier: Apache-2.0
#include "watch/groups.hpp"

#include "watch/library.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constinit Word world_group = 0;
constinit bool has_world_group = false;
constinit std::int32_t world_rank = -1, world_size = -1;

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

}  // namespace

int communicator_int(const char* name, Word communicator) {
    int value = -1;
    return ask(name, communicator, out(&value)) ? value : -1;
}

bool begin_world_group(Word session_or_none) {
    world_group = 0;
    static constexpr char world_set[] = "mpi://WORLD";
    has_world_group = session_or_none == 0 ? ask("Comm_group", library().comm_world, out(&world_group))
                                           : ask("Group_from_session_pset", session_or_none, out(world_set),
                                                 out(&world_group));
    world_rank = world_size = -1;
    if (!has_world_group) return false;
    int value = -1;
    if (ask("Group_rank", world_group, out(&value))) world_rank = value;
    if (ask("Group_size", world_group, out(&value))) world_size = value;
    return true;
}

std::int32_t world_group_rank() {
    return world_rank;
}

std::int32_t world_group_size() {
    return world_size;
}

std::span<const std::int32_t> members_of_group(Word group) {
    int size = 0;
    if (!has_world_group || !ask("Group_size", group, out(&size)) || size <= 0 ||
        !make_room(static_cast<std::size_t>(size)))
        return {};
    if (!ask("Group_translate_ranks", group, static_cast<unsigned>(size), out(ranks), world_group,
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
