// SPDX-License-Identifier: Apache-2.0
#include "watch/tests/fake_mpi.hpp"

#include <cstring>

#include "watch/library.hpp"
#include "watch/local.hpp"

namespace fake_mpi {

World world;

void call(Call number, std::initializer_list<Word> words, int site) {
    call(number, words, [](Word*) {}, 100, site);
}

void count(Call number, int site) {
    slowpath::watch::meet_local({number, nullptr, site_address(site), site_address(1)});
}

namespace {

constexpr Word comm_self = 0x44000001;

std::vector<int> members(Word handle) {
    handle &= 0xffffffff;
    if (handle == comm_self) return {world.rank};
    for (const World::Members& one : world.communicators)
        if (one.handle == handle) return one.ranks;
    std::vector<int> all;
    for (int rank = 0; rank < world.size; ++rank) all.push_back(rank);
    return all;
}

/// A group's handle is that of its communicator.
int comm_group(Word handle, std::uint32_t* group) {
    *group = static_cast<std::uint32_t>(handle);
    return 0;
}

int group_free(std::uint32_t*) {
    return 0;
}

int comm_size(Word handle, int* size) {
    *size = static_cast<int>(members(handle).size());
    return 0;
}

int comm_rank(Word handle, int* rank) {
    const std::vector<int> all = members(handle);
    *rank = -1;
    for (std::size_t at = 0; at < all.size(); ++at)
        if (all[at] == world.rank) *rank = static_cast<int>(at);
    return 0;
}

const World::Members* find(Word handle) {
    for (const World::Members& one : world.communicators)
        if (one.handle == (handle & 0xffffffff)) return &one;
    return nullptr;
}

int comm_test_inter(Word handle, int* flag) {
    const World::Members* const there = find(handle);
    *flag = there != nullptr && !there->remote.empty() ? 1 : 0;
    return 0;
}

int comm_remote_size(Word handle, int* size) {
    const World::Members* const there = find(handle);
    *size = there == nullptr ? 0 : static_cast<int>(there->remote.size());
    return 0;
}

int group_translate_ranks(Word group, Word count, const int* ranks, Word, int* out) {
    const std::vector<int> all = members(group);
    for (int at = 0; at < static_cast<int>(count); ++at) out[at] = all[static_cast<std::size_t>(ranks[at])];
    return 0;
}

int initialized(int* flag) {
    *flag = 1;
    return 0;
}

int query_thread(int* level) {
    *level = world.thread_level;
    return 0;
}

int type_size(Word type, int* bytes) {
    *bytes = type == type_char ? 1 : 8;
    return 0;
}

int get_library_version(char* text, int* length) {
    std::strcpy(text, "Fake MPI 1.0\nsecond line");
    *length = static_cast<int>(std::strlen(text));
    return 0;
}

struct Function {
    std::string_view name;
    void* address;
};

template <typename F>
void* address(F* one) {
    return reinterpret_cast<void*>(one);
}

}  // namespace
}  // namespace fake_mpi

namespace slowpath::watch {

constinit TicksKind ticks_kind = TicksKind::monotonic_ns;

namespace {

[[gnu::constructor(101)]] void choose_clock() {
    ticks_kind = find_ticks_kind();
}

}  // namespace

const Library& look_for_library() {
    static const Library mpich = [] {
        Library it;
        it.interface = Interface::mpich;
        it.comm_world = 0x44000000, it.comm_self = 0x44000001, it.comm_null = 0x04000000;
        it.request_null = it.message_null = 0x2c000000, it.datatype_null = 0x0c000000;
        it.status_ignore = it.statuses_ignore = 1, it.in_place = ~Word{0}, it.bottom = 0;
        it.no_op = 0x5800000e;
        it.any_source = -2, it.any_tag = -1, it.proc_null = -1, it.root = -3, it.undefined = -32766;
        it.status_bytes = 20, it.source_offset = 8, it.tag_offset = 12, it.error_offset = 16;
        return it;
    }();
    watched_library.store(&mpich, std::memory_order_release);
    return mpich;
}

void* function(const char* name) {
    using namespace fake_mpi;
    const Function functions[] = {
        {"Comm_group", address(comm_group)},
        {"Group_size", address(comm_size)},
        {"Group_rank", address(comm_rank)},
        {"Group_free", address(group_free)},
        {"Comm_size", address(comm_size)},
        {"Comm_rank", address(comm_rank)},
        {"Comm_test_inter", address(comm_test_inter)},
        {"Comm_remote_size", address(comm_remote_size)},
        {"Group_translate_ranks", address(group_translate_ranks)},
        {"Initialized", address(initialized)},
        {"Query_thread", address(query_thread)},
        {"Type_size", address(type_size)},
        {"Get_library_version", address(get_library_version)},
    };
    for (const Function& one : functions)
        if (one.name == name) return one.address;
    return nullptr;
}

}  // namespace slowpath::watch
