// SPDX-License-Identifier: Apache-2.0
/// What is planted: clauses, as SLOWPATH_PLANT holds them. docs/results/plants.md says what each word means.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::plant {

enum class Call {
    send,
    receive,
    put,
    get,
    wait,     ///< MPI_Wait
    waitall,  ///< MPI_Waitall
    test,     ///< MPI_Test
    barrier,
    bcast,
    reduce,
    allreduce,
    allgather,
    alltoall,
};
inline constexpr std::size_t calls = 13;

/// What is known of one call, and what conditions ask for.
enum class Quantity {
    bytes,       ///< of the message
    allocation,  ///< bytes of the mapping that holds the buffer
    start,       ///< address of the buffer
    use,         ///< of the mapping, by calls of this kind; the first is 1
    others,      ///< other mappings used since the last use of this one; without bound at its first use
    index,       ///< of the call among those of its kind in this process; the first is 1
    idle_s,      ///< seconds since the end of the call before, of whatever kind
    rank,        ///< that calls
    peer,        ///< to which it sends, from which it receives
    wildcard,    ///< 1: a receive from any source or of any tag, 0: of neither
    alloc_mem,   ///< 1: the buffer lies in memory from MPI_Alloc_mem, 0: it does not
    open,        ///< receives of this process that were started and are not complete
    root,        ///< of a collective that has one
    in_place,    ///< 1: a collective with MPI_IN_PLACE, 0: one without
};
inline constexpr std::size_t quantities = 14;

enum class Relation { above, below, equal, remainder, no_multiple };

struct Condition {
    Quantity quantity{};
    Relation relation{};
    double value = 0;
    double remainder = 0;  ///< for Relation::remainder: what the division by value leaves
};

enum class Per { call, byte, allocation, page, granule, block, queue, index, second };

enum class Place {
    user,     ///< spins
    kernel,   ///< lets pages of its own be mapped and unmapped
    waiting,  ///< sleeps, and yields
    cold,     ///< puts the message out of all caches; what that costs the machine decides
};

inline constexpr std::size_t most_conditions = 8;
inline constexpr std::size_t most_clauses = 4;
inline constexpr std::size_t longest_word = 64;

struct Clause {
    bool called[calls] = {true};  ///< by Call
    Condition conditions[most_conditions];
    std::size_t count = 0;             ///< of conditions; all must hold
    char environment[longest_word]{};  ///< a variable that must be set; empty: none
    double period_s = 0;               ///< only the first call in each period; 0: none
    double chance = 1;                 ///< of a call to pay
    double coin = 1;                   ///< of a launch to pay
    std::uint64_t seed = 0;            ///< of all that is drawn
    double cost_s = 0;                 ///< for each `per`
    Per per = Per::call;
    std::uint64_t granule = 1;
    bool exponential = false;  ///< the cost is drawn for each call, cost_s is its mean
    Place place = Place::user;
};

struct Plants {
    Clause clauses[most_clauses];
    std::size_t count = 0;
    bool small_pages = false;  ///< private mappings keep the smallest pages
    std::int64_t cpu = -1;     ///< that every rank runs on; -1: as the launcher wants

    bool empty() const { return count == 0 && !small_pages && cpu < 0; }
    bool charges_by(Per per) const;
    bool looks_at(Quantity quantity) const;
};

/// @param text Clauses with ';' between them: "call=receive bytes>8192 cost_s=2e-6 place=kernel; index%64=0
///             cost_s=1e-4".
/// @return Null when `plants` was filled, else what is wrong with the text.
const char* parse(const char* text, Plants& plants);

}  // namespace slowpath::plant
