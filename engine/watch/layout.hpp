// SPDX-License-Identifier: Apache-2.0
/// The record as it lies in the file: calls.cmake makes its structs of schema/watch.json, which says what
/// each field means.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::watch::layout {

inline constexpr std::uint32_t most_sections = 64;

enum State : std::uint32_t { running = 1, finalized, ended, thinning, no_room };

/// Peers that are no world rank; unknown_ranks - r: rank r of a communicator whose world ranks are not known.
enum Peer : std::int32_t { none = -1, any = -2, others = -3, proc_null = -4, unknown_ranks = -1000 };

inline constexpr std::uint32_t not_known = 0xffffffff;
inline constexpr std::uint16_t no_row = 0xffff;

enum Kind : std::uint16_t {
    send = 1,
    receive = 2,
    collective = 4,
    one_sided = 8,
    wait = 16,
    post = 32,
    done = 64,
    first = 128,
    part = 256,
    any_source_or_tag = 512,
    found_nothing = 1024,
    persistent = 2048,
    synchronous = 4096,
    ready = 8192,
    buffered = 16384,
    cancelled = 32768,
};

/// Of a sample that has no number of a system call.
enum SystemCall : std::int32_t { in_no_call = -1, runs = -2, refused = -3 };

/// What a thread does now.
enum Doing : std::uint16_t { outside = 0, in_call, polling };

// Also the numbers of the sections (enum class Is), and of the schema version, header_bytes and most_bytes.
#include "watch_layout.inc"

static_assert(sizeof(SectionRow) * most_sections + sizeof(Header) == header_bytes);

}  // namespace slowpath::watch::layout
