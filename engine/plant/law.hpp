// SPDX-License-Identifier: Apache-2.0
/// What is planted: SLOWPATH_PLANT, read once. docs/results/plants.md says what each word means.
#pragma once

#include <cstdint>

namespace slowpath::plant {

enum class Kind {
    none,
    pages,        ///< cost_s for each page of the allocation, mapped with the largest that divides its length
    allocation,   ///< cost_s for each byte of the allocation
    message,      ///< cost_s for each byte of the message
    constant,     ///< cost_s
    gate,         ///< cost_s for each of the first n - 1 uses of an allocation
    live,         ///< cost_s where an allocation is not among the n that were used last
    threshold,    ///< cost_s for messages of over n bytes
    blocks,       ///< cost_s for each block of a datatype that has several
    queue,        ///< cost_s for each other receive that is open
    rank,         ///< cost_s for each call of rank n
    small_pages,  ///< private mappings keep 4 KiB pages
    cpu,          ///< every rank runs on processor n
};

enum class Side { send, receive, both };

struct Law {
    Kind kind = Kind::none;
    double cost_s = 0;
    std::int64_t n = 0;
    bool every = false;  ///< each use pays, not only the first; for pages, allocation, message and constant
    Side side = Side::send;
};

/// @param text "pages cost_s=2.1e-6 phase=first side=send".
/// @return Null when `law` was filled, else what is wrong with the text.
const char* parse(const char* text, Law& law);

/// Page with which an allocation of this length is mapped: 2 MiB, 64 KiB or 4 KiB.
std::uint64_t page_of(std::uint64_t bytes);

}  // namespace slowpath::plant
