// SPDX-License-Identifier: Apache-2.0
#include "watch/scratch.hpp"

#include <sys/mman.h>

#include "watch/lanes.hpp"
#include "watch/library.hpp"

namespace slowpath::watch {
namespace {

[[gnu::tls_model("initial-exec")]] thread_local constinit Scratch own{};

/// A Waitall of more than these keeps nothing: its requests' ends are not seen.
constexpr std::size_t most_requests = 1 << 20;

Word* argument(Observed& call, const Plan& plan, Role role) {
    const int at = plan.at[static_cast<std::size_t>(role)];
    return at < 0 ? nullptr : &call.arguments[at];
}

/// Room of the only thread that calls MPI is kept for the next call: to map it and to touch its pages takes
/// as long as a hundred messages.
constexpr std::size_t most_kept_bytes = 1 << 20;

void give_back() {
    if (own.mapped != nullptr) munmap(own.mapped, own.mapped_bytes);
    own.mapped = nullptr;
    own.mapped_bytes = 0;
}

/// Room for handles and statuses; false: there is none.
bool take_room(std::size_t count, Word*& handles, char*& statuses) {
    handles = own.inline_handles;
    statuses = own.inline_statuses;
    if (count <= Scratch::inline_requests) return true;
    if (count > most_requests) return false;
    const std::size_t bytes = count * (sizeof(Word) + library().status_bytes);
    if (own.mapped_bytes < bytes) {
        give_back();
        void* const memory =
            mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED) return false;
        own.mapped = memory;
        own.mapped_bytes = bytes;
    }
    handles = static_cast<Word*>(own.mapped);
    statuses = static_cast<char*>(own.mapped) + count * sizeof(Word);
    return true;
}

Scratch* keep_requests(Observed& call, const Plan& plan) {
    const Word* const one = argument(call, plan, Role::request);
    const Word* const many = argument(call, plan, Role::requests);
    const Word* const length = argument(call, plan, Role::request_count);
    const int given = length == nullptr ? 1 : static_cast<int>(*length);
    const auto* const array = reinterpret_cast<const void*>(many != nullptr  ? *many
                                                            : one != nullptr ? *one
                                                                             : 0);
    Word* handles = nullptr;
    char* statuses = nullptr;
    if (array == nullptr || given <= 0 || !take_room(static_cast<std::size_t>(given), handles, statuses))
        return nullptr;
    const auto count = static_cast<std::size_t>(given);
    for (std::size_t at = 0; at < count; ++at) handles[at] = library().handle_at(array, at);
    own.request_count = count;
    own.handles = handles;
    own.statuses = nullptr;
    if (Word* const status = argument(call, plan, Role::status);
        status != nullptr && *status == library().status_ignore)
        *status = reinterpret_cast<Word>(own.statuses = statuses);
    if (Word* const array_of = argument(call, plan, Role::statuses);
        array_of != nullptr && *array_of == library().statuses_ignore)
        *array_of = reinterpret_cast<Word>(own.statuses = statuses);
    return &own;
}

Scratch* keep_status(Observed& call, const Plan& plan) {
    own.statuses = nullptr;
    Word* const status = argument(call, plan, Role::status);
    if (status != nullptr && *status == library().status_ignore)
        *status = reinterpret_cast<Word>(own.statuses = own.inline_statuses);
    own.handle = 0;
    if (const Word* const message = argument(call, plan, Role::message); message != nullptr && *message != 0)
        own.handle = library().handle_at(reinterpret_cast<const void*>(*message), 0);
    return &own;
}

Scratch* keep_handle(Observed& call, const Plan& plan, Role role) {
    const Word* const place = argument(call, plan, role);
    if (place == nullptr || *place == 0) return nullptr;
    own.handle = library().handle_at(reinterpret_cast<const void*>(*place), 0);
    return &own;
}

Scratch* keep_session(const Observed& call) {
    if (call.arguments[0] == 0) return nullptr;
    own.handle = library().handle_at(reinterpret_cast<const void*>(call.arguments[0]), 0);
    return &own;
}

}  // namespace

Scratch* prepare(Observed& call, const Plan& plan) {
    switch (plan.action) {
        case Action::complete:
        case Action::start:
        case Action::free_request:
        case Action::cancel:
            return keep_requests(call, plan);
        case Action::receive:
        case Action::matched_receive:
        case Action::exchange:
        case Action::probe:
            return keep_status(call, plan);
        case Action::free_communicator:
            return keep_handle(call, plan, Role::new_communicator);
        case Action::free_window:
            return keep_handle(call, plan, Role::new_window);
        case Action::free_datatype:
            return keep_handle(call, plan, Role::new_datatype);
        case Action::end_session:
            return keep_session(call);
        default:
            return nullptr;
    }
}

void release(Scratch& scratch) {
    if (scratch.mapped == nullptr || (!is_multiple && scratch.mapped_bytes <= most_kept_bytes)) return;
    give_back();
}

}  // namespace slowpath::watch
