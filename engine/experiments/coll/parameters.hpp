// SPDX-License-Identifier: Apache-2.0
/// What a cell of the experiment coll is given.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/parameters.hpp"
#include "experiment/experiment.hpp"
#include "mockups/mockups.hpp"

namespace slowpath::coll {

using mockups::Collective;

struct Traits {
    Collective collective;
    std::string_view name;  ///< as in MPI_Name, in lower case
    bool reduces = false;
    bool rooted = false;
    bool takes_in_place = false;
    bool between_neighbours = false;
};

std::span<const Traits> collectives();
const Traits& traits(Collective collective);

enum class Pattern { calls, counted, communicators, overlap, after_barrier, back_to_back };
enum class Start { blocking, nonblocking, persistent };
enum class Element { byte, integer, real };
enum class Op { sum, user, user_ordered };
enum class Group { world, duplicate, halves, strided };
enum class Arrival { together, one_late, linear, random };

struct Config {
    Pattern pattern;
    Collective collective;
    std::string way;  ///< "library", or a mock-up of this collective
    Start start;
    std::int64_t message_bytes;
    Element element;
    bool one_type;  ///< one element of a contiguous type instead of n elements
    Op op;
    bool in_place;
    bool to_neighbours;  ///< alltoallv, alltoallw: blocks for other ranks are empty
    Group group;
    std::optional<int> members;  ///< nullopt: all
    std::int64_t duplicates;
    bool root_is_last;
    Arrival arrival;
    double arrival_ratio;
    std::int64_t calls;
    std::int64_t samples;
    double time_limit_s;
    double warmup_s;
    bool validate;

    std::int64_t element_bytes() const;
    /// Elements of a block.
    std::int64_t count() const { return message_bytes / element_bytes(); }
    bool by_library() const { return way == "library"; }
    /// Calls follow each other as in a benchmark, and no rank waits for a deadline.
    bool in_loop() const { return pattern == Pattern::after_barrier || pattern == Pattern::back_to_back; }
};

std::span<const Parameter> parameters();
std::span<const Metric> metrics();

/// @throws UsageError: a length that is no whole number of elements or too long, parameters that don't go
/// together.
Config configure(const Assignment& assignment);

/// What keeps a cell from running in a job of this size.
std::optional<std::string> obstacle(const Config& config, int ranks);

}  // namespace slowpath::coll
