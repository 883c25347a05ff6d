// SPDX-License-Identifier: Apache-2.0
/// The record's begin and end.
#include <pthread.h>

#include <cstdlib>
#include <cstring>

#include "watch/clock.hpp"
#include "watch/communicators.hpp"
#include "watch/guard.hpp"
#include "watch/library.hpp"
#include "watch/local.hpp"
#include "watch/observe.hpp"
#include "watch/python.hpp"
#include "watch/resources.hpp"
#include "watch/sampler.hpp"
#include "watch/sites.hpp"
#include "watch/table.hpp"

namespace slowpath::watch {
namespace {

constexpr int level_multiple = 3;

constinit std::uint32_t last_recording = 0;
constinit std::uint64_t begin_ticks = 0;  ///< that begin_record took
constinit SpinLock beginning{};

int thread_level() {
    void* const query = function("Query_thread");
    int level = -1;
    return query != nullptr && call(query, reinterpret_cast<Word>(&level)) == 0 ? level : -1;
}

bool is_world_there() {
    void* const initialized = function("Initialized");
    int flag = 0;
    return initialized != nullptr && call(initialized, reinterpret_cast<Word>(&flag)) == 0 && flag != 0;
}

template <std::size_t room>
void copy(char (&place)[room], const char* text, std::size_t length) {
    std::memcpy(place, text, length < room ? length : room - 1);
}

/// The first line of what the library says of itself.
void write_library(layout::Header& head) {
    char text[8192] = {};  // MPI_MAX_LIBRARY_VERSION_STRING of all three interfaces
    int length = 0;
    void* const ask = function("Get_library_version");
    if (ask != nullptr && call(ask, reinterpret_cast<Word>(text), reinterpret_cast<Word>(&length)) == 0)
        copy(head.library, text, std::strcspn(text, "\n"));
    copy(head.library_path, library().path, std::strlen(library().path));
    head.interface = static_cast<std::uint32_t>(library().interface);
}

void write_calls() {
    Section<layout::CallRow>& rows = sections().calls;
    for (std::size_t number = 0; number < call_count; ++number) {
        layout::CallRow* const row = rows.next();
        std::strncpy(row->name, shapes[number].name, sizeof row->name - 1);
        row->family = static_cast<std::uint16_t>(shapes[number].family);
        rows.publish();
    }
}

bool is_spawned() {
    void* const ask = function("Comm_get_parent");
    Word parent = 0;
    return ask != nullptr && call(ask, reinterpret_cast<Word>(&parent)) == 0 &&
           library().handle(parent) != library().handle(library().comm_null);
}

/// Of the world of spawned processes: it is not their parents'. What names their job in the environment is
/// the same for all of them; where nothing does (Hydra), theirs can't be distinguished from other jobs': 0.
std::uint64_t spawned_identity() {
    const char* job = std::getenv("PMIX_NAMESPACE");
    if (job == nullptr) return 0;
    std::uint64_t hash = world_identity;
    for (; *job != '\0'; ++job) hash = scatter(hash ^ static_cast<unsigned char>(*job));
    return scatter(hash) | 1;
}

void write_world(layout::Header& head) {
    head.world_rank = world_group_rank();
    head.world_size = world_group_size();
}

/// In the child of a fork, whose memory is no longer the record (file.cpp).
void stop_in_child() {
    recording = 0;
}

void forget_last() {
    begin_lanes();
    begin_requests();
    begin_streams();
    begin_messages();
    begin_windows();
}

}  // namespace

void begin_record() {
    const SpinGuard guard(beginning);
    const std::uint64_t since = now_ticks();
    if (has_file()) {  // another session
        guard_file();
        set_state(layout::running);
        recording = last_recording;
        begin_samples();
        return;
    }
    const bool has_world = is_world_there();
    // A session says nothing of threads: they may all call.
    const int level = has_world ? thread_level() : level_multiple;
    is_multiple = level == level_multiple;
    open_file(!is_multiple);
    if (!has_file()) return;
    guard_file();
    measure_ticks();
    make_plans();
    forget_last();
    write_calls();
    layout::Header& head = header();
    head.thread_level = has_world ? level : -1;
    write_library(head);
    begin_modules();
    begin_resources();
    begin_python();
    begin_sites();
    if (has_world) {
        head.parent_rank_hint = is_spawned() ? 1 : 0;
        begin_communicators(head.parent_rank_hint == 0 ? world_identity : spawned_identity());
        write_world(head);
    }
    if (last_recording == 0) pthread_atfork(nullptr, nullptr, stop_in_child);
    recording = ++last_recording;
    begin_samples();
    begin_costs();
    begin_ticks = now_ticks() - since;
    if (!has_world) return;
    head.local_call_ticks = measure_local_ticks();
    begin_ticks = now_ticks() - since;
}

void note_start(const Observed& call) {
    layout::Header& head = header();
    const bool is_session = call.call == calls::MPI_Session_init && call.error == 0;
    constexpr int session_argument = 2;
    if (is_session)
        session_begun(
            library().handle_at(reinterpret_cast<const void*>(call.arguments[session_argument]), 0));
    if (head.spawn_ticks != 0) return;
    head.spawn_ticks = call.start_ticks;
    if (head.world_rank >= 0 || !is_session) return;
    begin_session_communicators();
    write_world(head);
}

namespace {

void write_end(layout::State state) {
    end_lanes();
    end_samples();
    note_modules();
    note_requests();
    note_resources("end");
    renew_anchor();
    set_state(state);
}

}  // namespace

void note_session_end() {
    if (!is_world_there()) write_end(layout::finalized);
}

void end_record() {
    const SpinGuard guard(beginning);
    if (recording == 0) return;
    const std::uint64_t since = now_ticks();
    recording = 0;
    if (is_world_there()) header().local_call_ticks = measure_local_ticks();  // as fast as the program's own
    write_end(layout::finalized);
    add_own_ticks(begin_ticks + now_ticks() - since);
    unguard_record();
}

namespace {

// A program that ends without MPI_Finalize.
[[gnu::destructor]] void leave() {
    if (recording == 0) return;
    recording = 0;
    write_end(header().state == layout::finalized ? layout::finalized : layout::ended);
}

}  // namespace

}  // namespace slowpath::watch
