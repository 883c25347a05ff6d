// SPDX-License-Identifier: Apache-2.0
#include "profiler/flight.hpp"

#include <string.h>
#include <sys/mman.h>

#include "watch/spin.hpp"

namespace slowpath::profiler {

/// Calls that may be open at a time: more than a GPU takes in its queue. The oldest makes room for a new one.
constexpr uint64_t most_open = 4096;
constexpr uint64_t most_communicators = 256;

struct OpenCall {
    uint64_t id;  // 0: free; else 1 + index of the call among all of this place
    Call call;
    bool is_launched;
};

struct Communicator {
    watch::SpinLock lock;
    OpenCall* calls = nullptr;  // never given back: a late event may still look
    bool is_open = false;
    bool is_named = false;
    End end = End::unknown;
    int32_t row = -1;
    uint64_t next_id = 1;
    uint64_t collectives = 0, messages = 0;
    uint32_t group_calls = 0;
    uint64_t events = 0;
};

namespace {

using watch::SpinGuard;
using watch::SpinLock;

constinit Communicator places[most_communicators]{};
constinit SpinLock places_lock{};

/// What a handle is of, in its lowest bits; then the place of the communicator, then the call.
enum Of : uint64_t { of_call = 1, of_task = 2, of_channel = 3 };
constexpr int place_shift = 2, id_shift = 10;
static_assert(most_communicators == 1U << (id_shift - place_shift));

uint64_t handle_of(Of of, const Communicator& communicator, uint64_t id) {
    const auto place = static_cast<uint64_t>(&communicator - places);
    return static_cast<uint64_t>(of) | place << place_shift | id << id_shift;
}

Of kind_of(uint64_t handle) {
    return static_cast<Of>(handle & 3U);
}

Communicator& place_of(uint64_t handle) {
    return places[(handle >> place_shift) % most_communicators];
}

/// The open call of a handle of this communicator; nullptr: it is over.
OpenCall* find(Communicator& communicator, uint64_t handle) {
    if (handle == 0 || &place_of(handle) != &communicator || !communicator.is_open) return nullptr;
    const uint64_t id = handle >> id_shift;
    OpenCall& open = communicator.calls[id % most_open];
    return id != 0 && open.id == id ? &open : nullptr;
}

void finish(OpenCall& open) {
    add_call(open.call);
    open.id = 0;
}

OpenCall& begin(Communicator& communicator) {
    const uint64_t id = communicator.next_id++;
    OpenCall& open = communicator.calls[id % most_open];
    if (open.id != 0) finish(open);
    open = {};
    open.id = id;
    open.call.key.communicator = static_cast<uint32_t>(communicator.row);
    open.call.peer = -1;
    return open;
}

uint16_t at_most_16(uint32_t value) {
    return static_cast<uint16_t>(value < UINT16_MAX ? value : UINT16_MAX);
}

void set(char (&to)[16], const char* from) {
    if (from == nullptr) return;
    memset(to, 0, sizeof to);
    memcpy(to, from, strnlen(from, sizeof to - 1));
}

void describe(OpenCall& open, const Seen& seen) {
    set(open.call.key.function, seen.function);
    set(open.call.key.datatype, seen.datatype);
    open.call.key.count = seen.count;
}

uint64_t start_call(Communicator& communicator, const Seen& seen, int64_t now_ns) {
    OpenCall& open = begin(communicator);
    describe(open, seen);
    open.call.call_ns = open.call.seen_ns = now_ns;
    return handle_of(of_call, communicator, open.id);
}

uint64_t start_task(Communicator& communicator, const Seen& seen, int64_t now_ns) {
    OpenCall* open = kind_of(seen.parent) == of_call ? find(communicator, seen.parent) : nullptr;
    // A call that was captured into a graph is made once and launched many times.
    if (open == nullptr || open->call.has_task) {
        open = &begin(communicator);
        describe(*open, seen);
    }
    Call& call = open->call;
    call.has_task = true;
    call.launch_ns = call.seen_ns = now_ns;
    call.number = seen.is_message ? ++communicator.messages : ++communicator.collectives;
    call.peer = seen.is_message ? seen.peer : -1;
    call.key.channels = at_most_16(seen.channels);
    set(call.key.algorithm, seen.algorithm);
    set(call.key.protocol, seen.protocol);
    ++communicator.group_calls;
    return handle_of(of_task, communicator, open->id);
}

uint64_t start_channel(Communicator& communicator, const Seen& seen, int64_t now_ns) {
    OpenCall* open = kind_of(seen.parent) == of_task ? find(communicator, seen.parent) : nullptr;
    if (open == nullptr) return 0;
    Call& call = open->call;
    const uint64_t timer_ns = seen.timer_ns != 0 ? seen.timer_ns : static_cast<uint64_t>(now_ns);
    if (call.channels_started++ == 0 || timer_ns < call.gpu_start_ns) call.gpu_start_ns = timer_ns;
    call.has_gpu_timer = seen.timer_ns != 0;
    call.seen_ns = now_ns;
    return handle_of(of_channel, communicator, open->id);
}

/// All that will be heard of it was heard.
bool is_over(End end, const OpenCall& open) {
    const Call& call = open.call;
    if (!open.is_launched || end != End::at_channels) return open.is_launched && end == End::at_launch;
    return call.key.channels > 0 && call.channels_ended >= call.key.channels &&
           call.channels_ended == call.channels_started;
}

void finish_open(Communicator& communicator) {
    for (uint64_t id = communicator.next_id; id < communicator.next_id + most_open; ++id) {
        OpenCall& open = communicator.calls[id % most_open];  // the oldest first
        if (open.id != 0) finish(open);
    }
    add_events(communicator.events);
    communicator.events = 0;
}

}  // namespace

Communicator* open_communicator(End end, uint64_t id, const char* name, int nodes, int ranks, int rank) {
    const SpinGuard guard(places_lock);
    for (Communicator& place : places) {
        if (place.is_open) continue;
        if (place.calls == nullptr) {
            void* memory = mmap(nullptr, most_open * sizeof(OpenCall), PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED) return nullptr;
            place.calls = static_cast<OpenCall*>(memory);
        }
        const int32_t row = add_communicator(id, name, nodes, ranks, rank);
        if (row < 0) return nullptr;
        const SpinGuard inner(place.lock);
        place.end = end;
        place.row = row;
        place.is_named = rank >= 0;
        place.collectives = place.messages = place.events = 0;
        place.is_open = true;
        return &place;
    }
    return nullptr;
}

void close(Communicator& communicator) {
    const SpinGuard outer(places_lock);
    const SpinGuard guard(communicator.lock);
    if (!communicator.is_open) return;
    finish_open(communicator);
    communicator.is_open = false;
    close_communicator(communicator.row);
}

uint64_t start(Communicator& communicator, const Seen& seen, int64_t now_ns) {
    const SpinGuard guard(communicator.lock);
    if (!communicator.is_open) return 0;
    ++communicator.events;
    if (!communicator.is_named && seen.rank >= 0 && seen.communicator != 0) {
        name_communicator(communicator.row, seen.communicator, seen.communicator_name, seen.rank);
        communicator.is_named = true;
    }
    switch (seen.what) {
        case Seen::group:
            communicator.group_calls = 0;
            return 0;
        case Seen::call:
            return start_call(communicator, seen, now_ns);
        case Seen::task:
            return start_task(communicator, seen, now_ns);
        case Seen::channel:
            return start_channel(communicator, seen, now_ns);
        case Seen::nothing:
            break;
    }
    return 0;
}

void end_channel(uint64_t handle, uint64_t timer_ns) {
    Communicator& communicator = place_of(handle);
    const SpinGuard guard(communicator.lock);
    OpenCall* open = find(communicator, handle);
    if (open == nullptr || kind_of(handle) != of_channel) return;
    ++communicator.events;
    if (timer_ns > open->call.gpu_end_ns) open->call.gpu_end_ns = timer_ns;
}

void stop(uint64_t handle, int64_t now_ns) {
    Communicator& communicator = place_of(handle);
    const SpinGuard guard(communicator.lock);
    OpenCall* open = find(communicator, handle);
    if (open == nullptr) return;
    ++communicator.events;
    Call& call = open->call;
    if (kind_of(handle) == of_task) {
        open->is_launched = true;
        call.launched_ns = now_ns;
        call.key.group_calls = at_most_16(communicator.group_calls);
    } else if (kind_of(handle) == of_channel) {
        ++call.channels_ended;
        if (!call.has_gpu_timer) call.gpu_end_ns = static_cast<uint64_t>(now_ns);
    }
    call.seen_ns = now_ns;
    if (is_over(communicator.end, *open)) finish(*open);
}

void finish_all() {
    for (Communicator& place : places) {
        const SpinGuard guard(place.lock);
        if (place.is_open) finish_open(place);
    }
}

void forget_all() {
    for (Communicator& place : places) {
        place.is_open = false;
        place.lock.give();
    }
    places_lock.give();
}

}  // namespace slowpath::profiler
