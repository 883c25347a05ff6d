// SPDX-License-Identifier: Apache-2.0
/// What a clause costs one call. Pure: what is known of the call in, seconds out.
#pragma once

#include <cstdint>

#include "plant/clause.hpp"

namespace slowpath::plant {

/// One call, as clauses see it.
struct Facts {
    Call call = Call::send;
    double of[quantities] = {};   ///< by Quantity; below 0: not known, and no condition on it holds
    double blocks = 0;            ///< pieces of its datatype; 0: neither a vector nor indexed
    double queue = 0;             ///< open receives of this process
    double age_s = 0;             ///< since the start of the process
    double now_s = 0;             ///< on a clock that all ranks of the host share
    double previous_s = 0;        ///< the call of this kind before, on that clock
    std::uint64_t launch = 0;     ///< the same in all ranks of a launch, and in no other
    bool set[most_clauses] = {};  ///< whether the variable of the clause of this number is set

    double& operator[](Quantity quantity) { return of[static_cast<std::size_t>(quantity)]; }
    double operator[](Quantity quantity) const { return of[static_cast<std::size_t>(quantity)]; }
};

/// Whether the clause of this number concerns the call.
bool concerns(const Clause& clause, std::size_t number, const Facts& facts);

/// Seconds for a call that the clause concerns.
double cost_s(const Clause& clause, const Facts& facts);

/// Page with which an allocation of this length is mapped: 2 MiB, 64 KiB or 4 KiB.
std::uint64_t page_of(std::uint64_t bytes);

/// A share from 0 to below 1 that follows from both numbers.
double drawn(std::uint64_t seed, std::uint64_t number);

}  // namespace slowpath::plant
