// SPDX-License-Identifier: Apache-2.0
/// What NCCL calls: ncclProfiler_v1 to ncclProfiler_v5. Each function returns success whatever happens: NCCL
/// goes on as if nobody listened.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profiler/abi.hpp"
#include "profiler/flight.hpp"

namespace slowpath::profiler {
namespace {

using abi::success;

template <size_t size>
const char* named(const char* const (&names)[size], uint8_t number) {
    return number < size ? names[number] : nullptr;
}

/// A collective of any version.
template <typename Collective>
void read_collective(const Collective& coll, Seen& seen) {
    seen.what = Seen::task;
    seen.count = coll.count;
    seen.channels = coll.channels;
    if constexpr (requires { coll.reduction; }) {
        seen.function = named(abi::functions, coll.function);
        seen.datatype = named(abi::datatypes, coll.datatype);
        seen.algorithm = named(abi::algorithms, coll.algorithm);
        seen.protocol = named(abi::protocols, coll.protocol);
    } else {
        seen.function = coll.function;
        seen.datatype = coll.datatype;
        seen.algorithm = coll.algorithm;
        seen.protocol = coll.protocol;
    }
    if constexpr (requires { coll.communicator; }) {
        seen.communicator = coll.communicator;
        seen.communicator_name = coll.communicator_name;
    }
}

template <typename Message>
void read_message(const Message& message, Seen& seen) {
    seen.what = Seen::task;
    seen.is_message = true;
    seen.count = message.count;
    seen.peer = message.peer;
    if constexpr (requires(const char* name) { name = message.function; }) {
        seen.function = message.function;
        seen.datatype = message.datatype;
    } else {
        seen.function = named(abi::functions, message.function);
        seen.datatype = named(abi::datatypes, message.datatype);
    }
    if constexpr (requires { message.channels; }) seen.channels = message.channels;
    if constexpr (requires { message.communicator; }) {
        seen.communicator = message.communicator;
        seen.communicator_name = message.communicator_name;
    }
}

template <typename Called>
void read_call(const Called& called, bool is_message, Seen& seen) {
    seen.what = Seen::call;
    seen.is_message = is_message;
    seen.function = called.function;
    seen.datatype = called.datatype;
    seen.count = called.count;
}

template <typename Event>
Seen seen_in(const Event& event) {
    Seen seen;
    seen.parent = reinterpret_cast<uint64_t>(event.parent);
    seen.rank = event.rank;
    switch (static_cast<uint64_t>(event.kind)) {
        case abi::group:
            seen.what = Seen::group;
            break;
        case abi::collective:
            read_collective(event.coll, seen);
            break;
        case abi::p2p:
            read_message(event.message, seen);
            break;
        case abi::proxy_op:
            // Of another process where NCCL sends through its neighbour's network card: its parent is not
            // ours.
            if (event.proxy.process == getpid()) seen.what = Seen::channel;
            break;
        case abi::kernel_channel:
            seen.what = Seen::channel;
            if constexpr (requires { event.kernel; }) seen.timer_ns = event.kernel.timer_ns;
            break;
        case abi::collective_call:
            if constexpr (requires { event.coll_call; }) read_call(event.coll_call, false, seen);
            break;
        case abi::p2p_call:
            if constexpr (requires { event.message_call; }) read_call(event.message_call, true, seen);
            break;
        default:
            break;
    }
    return seen;
}

template <typename Event>
int start_event(void* context, void** handle, Event* event) {
    if (handle == nullptr) return success;
    *handle = nullptr;
    if (context == nullptr || event == nullptr) return success;
    const Seen seen = seen_in(*event);
    if (seen.what != Seen::nothing)
        *handle = reinterpret_cast<void*>(start(*static_cast<Communicator*>(context), seen, monotonic_ns()));
    return success;
}

int stop_event(void* handle) {
    if (handle != nullptr) stop(reinterpret_cast<uint64_t>(handle), monotonic_ns());
    return success;
}

int change_with_timer(void* handle, int state, abi::StateArguments* arguments) {
    if (handle != nullptr && arguments != nullptr && state == abi::kernel_channel_stop)
        end_channel(reinterpret_cast<uint64_t>(handle), arguments->timer_ns);
    return success;
}

int change_without(void*, int, abi::StateArguments*) {
    return success;
}

int finalize(void* context) {
    if (context != nullptr) close(*static_cast<Communicator*>(context));
    return success;
}

void leave_in_child() {
    leave_record();
    forget_all();
}

/// Kernels tell when they ran unless the user does without: NCCL then has more to do for each call.
bool wants_kernels() {
    const char* chosen = getenv("SLOWPATH_NCCL_KERNELS");
    return chosen == nullptr || strcmp(chosen, "0") != 0;
}

struct Asked {
    uint32_t version;
    uint64_t kinds;
    End end;
    layout::Timer timer;
};

Asked asked_of(uint32_t version) {
    constexpr uint64_t calls = abi::group | abi::collective | abi::p2p;
    constexpr uint64_t program = abi::collective_call | abi::p2p_call;
    if (version < 3) return {version, calls | abi::proxy_op, End::unknown, layout::proxy};
    const uint64_t kinds = version < 5 ? calls : calls | program;
    if (!wants_kernels()) return {version, kinds, End::at_launch, layout::host_only};
    return {version, kinds | abi::kernel_channel, End::at_channels,
            version < 4 ? layout::proxy : layout::gpu};
}

/// @return success, with no context and nothing asked for where nothing can be recorded.
int begin(void** context, int* mask, uint32_t version, uint64_t id, const char* name, int nodes, int ranks,
          int rank) {
    if (context == nullptr || mask == nullptr) return success;
    *context = nullptr;
    const Asked asked = asked_of(version);
    if (!open_record(version, asked.timer)) {
        *mask = 0;
        return success;
    }
    static constinit bool has_fork_handlers = false;
    if (!__atomic_exchange_n(&has_fork_handlers, true, __ATOMIC_ACQ_REL))
        pthread_atfork(hold_record, release_record, leave_in_child);
    *context = open_communicator(asked.end, id, name, nodes, ranks, rank);
    *mask = static_cast<int>(asked.kinds);  // of all communicators
    return success;
}

template <uint32_t version>
int init_1(void** context, int* mask) {
    return begin(context, mask, version, 0, nullptr, -1, -1, -1);
}

int init_4(void** context, int* mask, const char* name, uint64_t id, int nodes, int ranks, int rank,
           abi::Log) {
    return begin(context, mask, 4, id, name, nodes, ranks, rank);
}

int init_5(void** context, uint64_t id, int* mask, const char* name, int nodes, int ranks, int rank,
           abi::Log) {
    return begin(context, mask, 5, id, name, nodes, ranks, rank);
}

constexpr char plugin_name[] = "slowpath";

[[gnu::destructor]] void end_process() {
    finish_all();
    write_record(true);
}

}  // namespace
}  // namespace slowpath::profiler

#define SLOWPATH_PLUGIN(number, event, init_type, init, change)                                    \
    extern "C" [[gnu::visibility("default")]] const slowpath::profiler::abi::Plugin<               \
        slowpath::profiler::abi::event, slowpath::profiler::abi::init_type>                        \
        ncclProfiler_v##number = {slowpath::profiler::plugin_name,                                 \
                                  slowpath::profiler::init,                                        \
                                  slowpath::profiler::start_event<slowpath::profiler::abi::event>, \
                                  slowpath::profiler::stop_event,                                  \
                                  slowpath::profiler::change,                                      \
                                  slowpath::profiler::finalize}

SLOWPATH_PLUGIN(1, Event1, Init1, init_1<1>, change_without);
SLOWPATH_PLUGIN(2, Event2, Init1, init_1<2>, change_without);
SLOWPATH_PLUGIN(3, Event3, Init1, init_1<3>, change_without);
SLOWPATH_PLUGIN(4, Event4, Init4, init_4, change_with_timer);
SLOWPATH_PLUGIN(5, Event5, Init5, init_5, change_with_timer);
