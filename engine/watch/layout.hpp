// SPDX-License-Identifier: Apache-2.0
/// The record as it lies in the file: schema/watch.json says what each field means, and a test holds the two
/// together.
#pragma once

#include <cstddef>
#include <cstdint>

namespace slowpath::watch::layout {

inline constexpr std::uint32_t version = 1;
inline constexpr std::uint32_t header_bytes = 4096;
inline constexpr std::uint32_t most_bytes = 8 << 20;
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

/// Numbers of the sections.
enum class Is : std::uint32_t {
    lanes = 1,
    profile,
    events,
    calls,
    sites,
    communicators,
    members,
    datatypes,
    allocations,
    text,
    current,
    samples,
};

/// Of a sample that has no number of a system call.
enum SystemCall : std::int32_t { in_no_call = -1, runs = -2, refused = -3 };

/// What a thread does now.
enum Doing : std::uint16_t { outside = 0, in_call, polling };

struct Header {
    char magic[8];
    std::uint32_t version;
    std::uint32_t header_bytes;
    std::uint64_t file_bytes;
    std::uint32_t section_count;
    std::uint32_t state;
    std::int32_t pid;
    std::int32_t world_rank;
    std::int32_t world_size;
    std::uint32_t interface;
    std::int32_t thread_level;
    std::uint32_t ticks_kind;
    std::uint64_t start_ticks;
    std::int64_t start_monotonic_ns;
    std::int64_t start_realtime_ns;
    std::uint64_t end_ticks;
    std::int64_t end_monotonic_ns;
    std::int64_t end_realtime_ns;
    std::int64_t process_start_realtime_ns;
    std::uint64_t window_ns;
    std::uint32_t call_cost_ns;
    std::int32_t parent_rank_hint;
    std::uint64_t spawn_ticks;
    char host[64];
    char program[512];
    char library[512];
    char library_path[512];
    float local_call_ticks;
    std::uint32_t thinned_call_cost_ns;
    char reserved[304];
};
static_assert(sizeof(Header) == 2048);

struct SectionRow {
    std::uint32_t kind;
    std::uint32_t lane;
    std::uint64_t offset;
    std::uint32_t capacity;
    std::uint32_t element_bytes;
    std::uint32_t used;
    std::uint32_t lost;
};
static_assert(sizeof(SectionRow) * most_sections + sizeof(Header) == header_bytes);

struct Lane {
    std::int32_t thread;
    std::uint32_t level;
    std::uint64_t calls;
    std::uint64_t call_ticks;
    std::uint64_t first_ticks;
    std::uint64_t last_ticks;
    std::uint64_t events_seen;
    std::uint64_t own_ticks;
    std::uint64_t thinned;
};
static_assert(sizeof(Lane) == 64);

struct alignas(64) Profile {
    std::uint32_t site;
    std::uint16_t call;
    std::uint8_t size_class;
    std::uint8_t flags;
    std::int32_t peer;
    std::uint16_t buffer_class;
    std::uint16_t communicator;
    std::uint64_t count;
    std::uint64_t bytes;
    std::uint64_t ticks;
    std::uint64_t least_ticks;
    std::uint64_t most_ticks;
    std::uint64_t allocation_bytes;
    std::uint32_t histogram[48];
};
static_assert(sizeof(Profile) == 256);

struct alignas(64) Event {
    std::uint64_t start_ticks;
    std::uint64_t end_ticks;
    std::uint64_t bytes;
    std::uint32_t request;
    std::uint32_t sequence;
    std::uint32_t site;
    std::int32_t peer;
    std::int32_t tag;
    std::uint32_t allocation;
    std::uint16_t call;
    std::uint16_t kind;
    std::uint16_t communicator;
    std::uint16_t datatype;
    std::uint32_t requests;
    std::uint32_t start_offset;
};
static_assert(sizeof(Event) == 64);

struct CallRow {
    char name[40];
    std::uint64_t calls;
    std::uint16_t family;
    std::uint16_t importers;
    std::uint32_t dlsym;
    std::uint64_t reserved;
};
static_assert(sizeof(CallRow) == 64);

struct Site {
    std::uint32_t depth;
    std::uint16_t fortran;
    std::uint16_t python;
    std::uint64_t frames[15];
};
static_assert(sizeof(Site) == 128);

struct Communicator {
    std::uint64_t identity;
    std::int32_t size;
    std::int32_t rank;
    std::uint32_t members_offset;
    std::uint32_t members_count;
    std::uint16_t parent;
    std::uint16_t is_inter;
    std::uint16_t made_by;
    std::uint16_t topology;
    char name[32];
};
static_assert(sizeof(Communicator) == 64);

struct Member {
    std::int32_t world_rank;
};

struct Datatype {
    std::uint64_t bytes;
    std::int64_t extent_bytes;
    std::uint64_t blocks;
    std::uint64_t least_block_bytes;
    std::uint64_t most_block_bytes;
    std::uint64_t span_bytes;
    std::uint32_t combiner;
    std::uint32_t shape;
    std::uint64_t reserved;
};
static_assert(sizeof(Datatype) == 64);

struct Allocation {
    std::uint64_t address;
    std::uint64_t bytes;
    std::uint64_t page_bytes;
    std::uint64_t uses;
    std::uint64_t first_ticks;
    std::uint64_t last_ticks;
    std::uint16_t kind;
    std::int16_t device;
    std::uint16_t buffer_class;
    std::uint16_t alive;
    std::uint32_t site;
    std::uint32_t remainder_bytes;
};
static_assert(sizeof(Allocation) == 64);

struct Text {
    char byte;
};

struct alignas(64) Current {
    std::uint64_t since_ticks;
    std::uint16_t doing;
    std::uint16_t call;
    std::uint16_t communicator;
    std::uint16_t collective_communicator;
    std::uint32_t site;
    std::int32_t peer;
    std::int32_t source;
    std::int32_t tag;
    std::uint32_t sequence;
    std::uint32_t requests;
    std::uint32_t request;
    std::uint32_t collective_sequence;
    std::uint64_t ticks_per_s;
};
static_assert(sizeof(Current) == 64);

struct Sample {
    std::uint64_t ticks;
    std::uint64_t ran_ns;
    std::uint64_t waited_ns;
    std::uint64_t system_us;
    std::uint64_t read_bytes;
    std::uint64_t written_bytes;
    std::uint32_t minor_faults;
    std::uint32_t major_faults;
    std::uint32_t reads;
    std::uint32_t writes;
    std::int32_t system_call;
    std::uint16_t state;
    std::uint16_t processor;
    std::uint64_t reserved;
};
static_assert(sizeof(Sample) == 80);

}  // namespace slowpath::watch::layout
