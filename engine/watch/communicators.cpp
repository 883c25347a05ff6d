// SPDX-License-Identifier: Apache-2.0
#include "watch/communicators.hpp"

#include <algorithm>
#include <cstring>
#include <span>
#include <string_view>

#include "watch/file.hpp"
#include "watch/library.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

template <std::size_t room>
struct Name {
    char text[room];
    constexpr Name(const char (&from)[room]) { std::copy_n(from, room, text); }
};

/// Runs a function of MPI, which is looked up once. @return Whether there is one, and it succeeded.
template <Name name, typename... Words>
bool ask(Words... words) {
    static void* const asked = function(name.text);
    return asked != nullptr && call(asked, static_cast<Word>(words)...) == 0;
}

template <typename Out>
Word out(Out* place) {
    return reinterpret_cast<Word>(place);
}

/// An int that MPI says of a communicator or group; -1: it does not.
template <Name name>
int said(Word of) {
    int value = -1;
    return ask<name>(of, out(&value)) ? value : -1;
}

constexpr std::uint32_t most_rows = 2048;
constinit CommunicatorState states[most_rows]{};

struct Handle {
    std::uint64_t key;  ///< 1 + handle
    std::uint16_t row;
};
constinit Table<Handle, 256, 65536> handles{};

/// How often communicators were made of these members alone, and where they stand in the record.
struct Members {
    std::uint64_t key;  ///< hash_of
    std::uint32_t makings, offset, count;
};
constinit Table<Members, 256, 65536> groups{};

std::uint64_t hash_of(std::span<const std::int32_t> members) {
    std::uint64_t hash = members.size();
    for (const std::int32_t member : members) {
        if (member < 0) return 0;  // not of this world: its rank there is not known
        hash = scatter(hash + 0x632be59bd9b4e019) ^ static_cast<std::uint64_t>(member);
    }
    return scatter(hash) | 1;
}

bool is_world_order(std::span<const std::int32_t> members) {
    for (std::size_t rank = 0; rank < members.size(); ++rank)
        if (members[rank] != static_cast<std::int32_t>(rank)) return false;
    return true;
}

void write_members(layout::Communicator& row, std::span<const std::int32_t> members,
                   std::uint64_t members_hash) {
    row.members_offset = layout::not_known;
    row.members_count = static_cast<std::uint32_t>(members.size());
    if (members.empty() || is_world_order(members)) return;
    Section<layout::Member>& section = sections().members;
    // Communicators of one group share one list.
    Members* const group = members_hash == 0 ? nullptr : groups.put(members_hash);
    if (group != nullptr && group->count == members.size() &&
        std::memcmp(&section[group->offset], members.data(), members.size_bytes()) == 0) {
        row.members_offset = group->offset;
        return;
    }
    if (members.size() > section.capacity() - section.used()) {
        section.lose(static_cast<std::uint32_t>(members.size()));
        row.members_count = 0;
        return;
    }
    std::memcpy(static_cast<void*>(&section[section.used()]), members.data(), members.size_bytes());
    row.members_offset = section.publish(static_cast<std::uint32_t>(members.size()));
    if (group != nullptr) group->offset = row.members_offset, group->count = row.members_count;
}

std::uint16_t add_row(Word handle, const layout::Communicator& row, const CommunicatorState& state) {
    Section<layout::Communicator>& rows = sections().communicators;
    layout::Communicator* place = rows.next();
    std::uint16_t number = layout::no_row;
    if (place != nullptr) {
        *place = row;
        states[rows.used()] = state;
        number = static_cast<std::uint16_t>(rows.publish());
    }
    if (Handle* entry = handles.put(library().handle(handle) + 1)) entry->row = number;
    return number;
}

/// What holds of any communicator, asked of MPI.
struct Described {
    layout::Communicator row{};
    CommunicatorState state;
};

Described describe(Word handle) {
    Described made;
    made.row.parent = made.row.made_by = layout::no_row;
    made.row.size = said<"Comm_size">(handle);
    made.row.rank = said<"Comm_rank">(handle);
    made.row.is_inter = said<"Comm_test_inter">(handle) == 1 ? 1 : 0;
    const std::span<const std::int32_t> local = members_of(handle, false);
    made.state.members_hash = hash_of(local);
    if (made.row.is_inter == 0) {
        made.state.targets = made.row.size < 0 ? 0 : made.row.size;
        write_members(made.row, local, made.state.members_hash);
        return made;
    }
    // Also where the other group's members are of another world, and not known.
    const int others = said<"Comm_remote_size">(handle);
    made.state.targets = others < 0 ? 0 : others;
    const std::span<const std::int32_t> remote = members_of(handle, true);
    const std::uint64_t one = made.state.members_hash, other = hash_of(remote);
    write_members(made.row, other == 0 ? std::span<const std::int32_t>{} : remote, other);
    // The same on both sides: in an order that does not say which side is one's own.
    made.state.members_hash = one == 0 || other == 0 ? 0
                              : one < other          ? scatter(one) + other
                                                     : scatter(other) + one;
    return made;
}

/// n-th making among these members, who all take part in it.
std::uint32_t number_making(std::uint64_t members_hash) {
    Members* const group = groups.put(members_hash);
    return group == nullptr ? 0 : ++group->makings;
}

std::uint64_t identity_of(std::uint64_t parent, std::uint64_t making, std::uint64_t members_hash) {
    return members_hash == 0 ? 0 : scatter(scatter(parent + making * 0x9e3779b97f4a7c15) ^ members_hash) | 1;
}

/// Neighbours of a grid by dimension, below and above (MPI-4.1, section 8.6): at an edge there is none.
std::uint32_t missing_neighbours(Word handle, int dimensions) {
    std::uint32_t missing = 0;
    for (unsigned dimension = 0; dimension < 16 && static_cast<int>(dimension) < dimensions; ++dimension) {
        int below = 0, above = 0;
        if (!ask<"Cart_shift">(handle, dimension, Word{1}, out(&below), out(&above))) continue;
        if (below == library().proc_null) missing |= 1U << 2 * dimension;
        if (above == library().proc_null) missing |= 2U << 2 * dimension;
    }
    return missing;
}

void describe_topology(Described& made, Word handle, Call call) {
    const std::string_view name = shapes[call].name;
    int sources = 0;
    if (name == "MPI_Cart_create" || name == "MPI_Cart_sub") {
        const int dimensions = said<"Cartdim_get">(handle);
        made.state.neighbours_in = made.state.neighbours_out = 2 * dimensions;
        made.state.missing_neighbours = missing_neighbours(handle, dimensions);
    } else if (name.starts_with("MPI_Dist_graph_create")) {
        int targets = 0, weighted = 0;
        if (ask<"Dist_graph_neighbors_count">(handle, out(&sources), out(&targets), out(&weighted))) {
            made.state.neighbours_in = sources;
            made.state.neighbours_out = targets;
        }
    } else if (name == "MPI_Graph_create") {
        if (ask<"Graph_neighbors_count">(handle, static_cast<unsigned>(made.row.rank), out(&sources)))
            made.state.neighbours_in = made.state.neighbours_out = sources;
    }
}

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    for (const std::string_view one : names)
        if (name == one) return true;
    return false;
}

bool is_duplicate(std::string_view name) {
    return name.starts_with("MPI_Comm_dup") || name.starts_with("MPI_Comm_idup");
}

/// Made by the members alone, not by all of a communicator: counted among the same members.
bool is_made_by_members(std::string_view name) {
    return is_one_of(name, {"MPI_Comm_create_group", "MPI_Comm_create_from_group", "MPI_Intercomm_create",
                            "MPI_Intercomm_create_from_groups"});
}

/// Both sides of these have no communicator in common.
bool is_from_outside(std::string_view name) {
    return is_one_of(name, {"MPI_Comm_spawn", "MPI_Comm_spawn_multiple", "MPI_Comm_accept",
                            "MPI_Comm_connect", "MPI_Comm_join", "MPI_Comm_get_parent"});
}

/// A duplicate that is still being made must not be asked: its members are its parent's.
Described copy_of(std::uint16_t parent) {
    Described made;
    made.row = sections().communicators[parent];
    std::memset(made.row.name, 0, sizeof made.row.name);
    made.state = states[parent];
    made.state.collectives = made.state.children = 0;
    return made;
}

}  // namespace

std::uint16_t communicator_row(Word handle) {
    if (const Handle* entry = handles.find(library().handle(handle) + 1)) [[likely]]
        return entry->row;
    // MPI would call the program's error handler, were it asked for its ranks.
    if (library().handle(handle) == library().handle(library().comm_null)) return layout::no_row;
    const Described found = describe(handle);
    return add_row(handle, found.row, found.state);
}

std::uint16_t known_communicator_row(Word handle) {
    const Handle* const entry = handles.find(library().handle(handle) + 1);
    return entry == nullptr ? layout::no_row : entry->row;
}

std::int32_t world_rank_of(std::uint16_t row, std::int32_t rank) {
    if (rank == library().proc_null) return layout::proc_null;
    if (rank == library().any_source) return layout::any;
    if (row == layout::no_row || rank < 0) return layout::unknown_ranks - (rank < 0 ? 0 : rank);
    const layout::Communicator& communicator = sections().communicators[row];
    if (static_cast<std::uint32_t>(rank) >= communicator.members_count) return layout::unknown_ranks - rank;
    if (communicator.members_offset == layout::not_known) return rank;
    const std::int32_t world =
        sections().members[communicator.members_offset + static_cast<std::uint32_t>(rank)].world_rank;
    return world >= 0 ? world : layout::unknown_ranks - rank;
}

CommunicatorState& communicator_state(std::uint16_t row) {
    return states[row];
}

std::uint32_t number_collective(std::uint16_t row) {
    return row == layout::no_row ? layout::not_known : states[row].collectives++;
}

void begin_communicators(std::uint64_t identity) {
    handles.clear();
    groups.clear();
    begin_world_group(World::of_communicator);
    Described world = describe(library().comm_world);
    world.row.identity = identity;
    std::strcpy(world.row.name, "MPI_COMM_WORLD");
    add_row(library().comm_world, world.row, world.state);
    Described self = describe(library().comm_self);
    self.row.identity = identity == 0 ? 0 : identity_of(identity, 0, self.state.members_hash);
    std::strcpy(self.row.name, "MPI_COMM_SELF");
    add_row(library().comm_self, self.row, self.state);
}

void begin_session_communicators() {
    handles.clear();
    groups.clear();
    begin_world_group(World::of_session);
    // Row 0 is the world's, whether or not anybody has its handle.
    layout::Communicator world{};
    world.identity = world_identity;
    world.size = world_group_size();
    world.rank = world_group_rank();
    world.members_offset = layout::not_known;
    world.members_count = world.size > 0 ? static_cast<std::uint32_t>(world.size) : 0;
    world.parent = world.made_by = layout::no_row;
    std::strcpy(world.name, "mpi://WORLD");
    if (layout::Communicator* place = sections().communicators.next()) {
        *place = world;
        sections().communicators.publish();
        // MPI_Init may come later.
        if (Handle* entry = handles.put(library().handle(library().comm_world) + 1)) entry->row = 0;
    }
}

void communicator_made(Word handle, Call call, const Word* arguments) {
    const Plan& plan = plans[call];
    const std::string_view name = shapes[call].name;
    std::uint16_t parent = layout::no_row;
    if (plan.has(Role::communicator))
        parent = communicator_row(arguments[plan.at[static_cast<std::size_t>(Role::communicator)]]);
    const bool is_collective_on_parent =
        parent != layout::no_row && !is_made_by_members(name) && !is_from_outside(name);
    // Ranks that get none (MPI_UNDEFINED) took part in it.
    const std::uint32_t making = is_collective_on_parent ? ++states[parent].children : 0;
    if (library().handle(handle) == library().handle(library().comm_null)) return;
    if (is_duplicate(name) && parent == layout::no_row) return;  // no room for its parent: none for it
    const Section<layout::Communicator>& rows = sections().communicators;
    if (rows.used() == rows.capacity()) {  // MPI need not be asked what it is
        add_row(handle, {}, {});
        return;
    }
    Described made = is_duplicate(name) ? copy_of(parent) : describe(handle);
    made.row.made_by = call;
    made.row.parent = parent;
    const std::uint64_t members_hash = made.state.members_hash;
    const std::uint64_t world = sections().communicators[0].identity;
    const std::uint64_t parent_identity =
        parent == layout::no_row ? 0 : sections().communicators[parent].identity;
    if (is_collective_on_parent)
        made.row.identity = parent_identity == 0 ? 0 : identity_of(parent_identity, making, members_hash);
    else if (is_made_by_members(name) && members_hash != 0 && world != 0)
        made.row.identity = identity_of(scatter(world), number_making(members_hash), members_hash);
    else
        made.row.identity = 0;
    if (!is_duplicate(name)) describe_topology(made, handle, call);
    add_row(handle, made.row, made.state);
}

void communicator_freed(Word handle) {
    if (Handle* entry = handles.find(library().handle(handle) + 1)) handles.erase(entry);
}

void communicator_named(Word handle, const char* name) {
    const std::uint16_t row = communicator_row(handle);
    if (row == layout::no_row) return;
    char(&place)[32] = sections().communicators[row].name;
    std::memset(place, 0, sizeof place);
    std::memcpy(place, name, strnlen(name, sizeof place - 1));
}

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

/// The group of all while it is asked. That of a session is freed at once: a session may have to be free of
/// groups when the program finalizes it (MPICH's strict_finalize).
class WorldGroup {
  public:
    WorldGroup() {
        static constexpr char world_set[] = "mpi://WORLD";
        if (has_world_group)
            group_ = world_group;
        else
            is_taken_ = session_count > 0 && ask<"Group_from_session_pset">(sessions[session_count - 1],
                                                                            out(world_set), out(&group_));
    }
    WorldGroup(const WorldGroup&) = delete;
    WorldGroup& operator=(const WorldGroup&) = delete;
    ~WorldGroup() {
        if (is_taken_) ask<"Group_free">(out(&group_));
    }

    bool is_there() const { return has_world_group || is_taken_; }
    Word group() const { return group_; }

  private:
    Word group_ = 0;
    bool is_taken_ = false;
};

}  // namespace

bool begin_world_group(World world) {
    world_group = 0;
    has_world_group =
        world == World::of_communicator && ask<"Comm_group">(library().comm_world, out(&world_group));
    world_rank = world_size = -1;
    const WorldGroup all;
    if (!all.is_there()) return false;
    world_rank = said<"Group_rank">(all.group());
    world_size = said<"Group_size">(all.group());
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

int size_of_group(Word group) {
    return said<"Group_size">(group);
}

std::span<const std::int32_t> members_of_group(Word group) {
    const WorldGroup all;
    const int size = all.is_there() ? size_of_group(group) : -1;
    if (size <= 0 || !make_room(static_cast<std::size_t>(size))) return {};
    if (!ask<"Group_translate_ranks">(group, static_cast<unsigned>(size), out(ranks), all.group(),
                                      out(translated)))
        return {};
    for (int rank = 0; rank < size; ++rank)
        if (translated[rank] < 0) translated[rank] = -1;
    return {translated, static_cast<std::size_t>(size)};
}

std::span<const std::int32_t> members_of(Word communicator, bool is_remote) {
    Word group = 0;
    if (!(is_remote ? ask<"Comm_remote_group">(communicator, out(&group))
                    : ask<"Comm_group">(communicator, out(&group))))
        return {};
    const std::span<const std::int32_t> members = members_of_group(group);
    ask<"Group_free">(out(&group));
    return members;
}

}  // namespace slowpath::watch
