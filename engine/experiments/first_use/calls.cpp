// SPDX-License-Identifier: Apache-2.0
#include "first_use/calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "first_use/uses.hpp"
#include "mpi/optional.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
#pragma weak MPI_Parrived
#endif
#ifdef SLOWPATH_HAVE_MPI_SESSIONS
#pragma weak MPI_Isendrecv
#pragma weak MPI_Isendrecv_replace
#endif

namespace slowpath::first_use {
namespace {

constexpr int parts_of_message = 4;

// Messages between the first rank and the last one, each way at once, so that either is timed. Of a sending
// call the receive is posted before, of a receiving one the send is under way; what is not timed is completed
// afterwards.

int post(Stage& s, int messages = 1) {
    int code = MPI_SUCCESS;
    for (int i = 0; i < messages && code == MPI_SUCCESS; ++i)
        code = MPI_Irecv(s.arriving(i), s.items, s.unit, s.peer, call_tag, s.world,
                         &s.requests[static_cast<std::size_t>(i)]);
    return code;
}

int send_off(Stage& s, int messages = 1) {
    int code = MPI_SUCCESS;
    for (int i = 0; i < messages && code == MPI_SUCCESS; ++i)
        code = MPI_Isend(OUT, TO, &s.sent[static_cast<std::size_t>(i)]);
    return code;
}

int exchange(Stage& s, int messages) {
    return first_of({post(s, messages), send_off(s, messages)});
}

const Step receive = STEP(MPI_Recv(IN, FROM, &s.status));
const Step probe_matched = STEP(MPI_Mprobe(FROM, &s.message, &s.status));
const Step receive_matched = STEP(MPI_Mrecv(IN, &s.message, &s.status));

Row paired(const char* name, Step timed) {
    return Row{name, timed}.by(Who::pair);
}

Row sends(const char* name, Step timed) {
    return paired(name, timed).arriving(Arrives::from_peer).around(STEP(post(s)));
}

Row receives(const char* name, Step timed, Step after = nothing) {
    return paired(name, timed).arriving(Arrives::from_peer).around(STEP(send_off(s)), after);
}

/// Eight of them, open when the call begins.
Row completes(const char* name, Step timed) {
    return receives(name, timed).of(most_messages).around(STEP(exchange(s, most_messages)));
}

int attach(Stage& s) {
    s.attached.resize(2 * (static_cast<std::size_t>(s.bytes()) + MPI_BSEND_OVERHEAD));
    return MPI_Buffer_attach(s.attached.data(), static_cast<int>(s.attached.size()));
}

int detach(Stage& s) {
    void* buffer = nullptr;
    return MPI_Buffer_detach(static_cast<void*>(&buffer), &s.number);
}

template <class Ask>
int until(Stage& s, Ask ask) {
    s.flag = 0;
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && s.flag == 0) code = ask();
    return code;
}

std::vector<Row> sendings() {
    return {
        sends("send", STEP(MPI_Send(OUT, TO))),
        sends("ssend", STEP(MPI_Ssend(OUT, TO))),
        sends("rsend", STEP(MPI_Rsend(OUT, TO))),
        sends("bsend", STEP(MPI_Bsend(OUT, TO))).opened(attach, detach),
        sends("isend", STEP(MPI_Isend(OUT, TO, &s.own))),
        sends("issend", STEP(MPI_Issend(OUT, TO, &s.own))),
        sends("irsend", STEP(MPI_Irsend(OUT, TO, &s.own))),
        sends("ibsend", STEP(MPI_Ibsend(OUT, TO, &s.own))).opened(attach, detach),
        sends("request_free", STEP(MPI_Request_free(&s.own)))
            .around(STEP(post(s), MPI_Isend(OUT, TO, &s.own))),
        Row{"buffer_attach", attach}.around(nothing, detach),
        Row{"buffer_detach", detach}.around(attach),
    };
}

// Persistent requests: made, and started.

Row started(const char* maker, Step make) {
    return paired("start", STEP(MPI_Start(&s.persistent))).on(maker).opened(make, free_persistent);
}

#define MADE_REQUEST(call, maker, ...)                                                   \
    Row{call, STEP(maker(__VA_ARGS__, &s.persistent))}.around(nothing, free_persistent), \
        started(#maker, STEP(maker(__VA_ARGS__, &s.persistent))).arriving(Arrives::from_peer)

std::vector<Row> persistent() {
    const auto init_sends = STEP([&s] {
        int code = MPI_SUCCESS;
        for (MPI_Request& request : s.started)
            if (code == MPI_SUCCESS) code = MPI_Send_init(OUT, TO, &request);
        return code;
    }());
    const auto free_sends = STEP([&s] {
        for (MPI_Request& request : s.started) MPI_Request_free(&request);
        return MPI_SUCCESS;
    }());
    std::vector<Row> rows{
        MADE_REQUEST("send_init", MPI_Send_init, OUT, TO),
        MADE_REQUEST("ssend_init", MPI_Ssend_init, OUT, TO),
        MADE_REQUEST("rsend_init", MPI_Rsend_init, OUT, TO),
        MADE_REQUEST("bsend_init", MPI_Bsend_init, OUT, TO),
        MADE_REQUEST("recv_init", MPI_Recv_init, IN, FROM),
        sends("startall", STEP(MPI_Startall(most_messages, s.started.data())))
            .opened(init_sends, free_sends)
            .of(most_messages)
            .around(STEP(post(s, most_messages)),
                    STEP(MPI_Waitall(most_messages, s.started.data(), MPI_STATUSES_IGNORE))),
        local("request_get_status", STEP(MPI_Request_get_status(s.started[0], &s.flag, &s.status)))
            .opened(init_sends, free_sends),
    };
    for (Row& row : rows) {
        if (std::string(row.name) != "start") continue;
        const std::string maker = row.request;
        row.before = maker == "MPI_Recv_init" ? Step(STEP(send_off(s))) : Step(STEP(post(s)));
        if (maker == "MPI_Bsend_init") {
            row.open = STEP(attach(s), MPI_Bsend_init(OUT, TO, &s.persistent));
            row.close = STEP(free_persistent(s), detach(s));
        }
    }
    return rows;
}

#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
int init_partitions(Stage& s) {
    const MPI_Count each = s.items / parts_of_message;
    if (!s.is_paired) return MPI_SUCCESS;
    if (s.items % parts_of_message != 0) return MPI_ERR_COUNT;
    return first_of(
        {MPI_Psend_init(s.out.data(), parts_of_message, each, s.unit, TO, MPI_INFO_NULL, &s.persistent),
         MPI_Precv_init(s.in.data(), parts_of_message, each, s.unit, s.peer, call_tag, s.world, MPI_INFO_NULL,
                        &s.other)});
}

int ready(Stage& s, int first = 0) {
    return MPI_Pready_range(first, parts_of_message - 1, s.persistent);
}

const Step start_both = STEP(MPI_Start(&s.other), MPI_Start(&s.persistent));

Row partitioned(const char* name, Step timed) {
    return paired(name, timed)
        .arriving(Arrives::from_peer)
        .opened(init_partitions, free_persistent)
        .with(&Row::most_ranks, 2)  // Open MPI makes a communicator of all ranks at the first start
        .where([] { return mpi::is_there(&MPI_Psend_init); });
}

std::vector<Row> partitions() {
    return {
        partitioned("start", STEP(MPI_Start(&s.persistent)))
            .around(STEP(MPI_Start(&s.other)), STEP(ready(s)))
            .on("MPI_Psend_init"),
        partitioned("start", STEP(MPI_Start(&s.other)))
            .around(nothing, STEP(MPI_Start(&s.persistent), ready(s)))
            .on("MPI_Precv_init"),
        partitioned("pready", STEP(MPI_Pready(0, s.persistent))).around(start_both, STEP(ready(s, 1))),
        partitioned("pready_range", STEP(ready(s))).around(start_both),
        partitioned("parrived", STEP(until(s, [&] { return MPI_Parrived(s.other, 0, &s.flag); })))
            .around(STEP(start_both(s), ready(s))),
        // Once a request was freed that was never started, Open MPI 5.0.11 waits for ever for a later
        // message of the same peer and tag: open-mpi/ompi, pull request 14155.
        partitioned("psend_init", init_partitions)
            .opened(nothing, nothing)
            .around(nothing, STEP(start_both(s), ready(s), MPI_Wait(&s.persistent, MPI_STATUS_IGNORE),
                                  MPI_Wait(&s.other, MPI_STATUS_IGNORE), free_persistent(s))),
    };
}
#else
std::vector<Row> partitions() {
    return {};
}
#endif

std::vector<Row> receptions() {
    return {
        receives("recv", receive),
        receives("recv_any_tag", STEP(MPI_Recv(IN, s.from, MPI_ANY_TAG, s.world, &s.status))),
        receives("irecv", STEP(MPI_Irecv(IN, FROM, REQUESTS))),
        receives("probe", STEP(MPI_Probe(FROM, &s.status)), receive),
        receives("iprobe", STEP(until(s, [&] { return MPI_Iprobe(FROM, &s.flag, &s.status); })), receive),
        receives("mprobe", probe_matched, receive_matched),
        receives("improbe", STEP(until(s, [&] { return MPI_Improbe(FROM, &s.flag, &s.message, &s.status); })),
                 receive_matched),
        receives("mrecv", receive_matched).around(STEP(send_off(s), probe_matched(s))),
        receives("imrecv", STEP(MPI_Imrecv(IN, &s.message, REQUESTS)))
            .around(STEP(send_off(s), probe_matched(s))),
        paired("cancel", STEP(MPI_Cancel(REQUESTS)))
            .around(STEP(MPI_Irecv(IN, s.peer, other_tag, s.world, REQUESTS))),
        paired("sendrecv", STEP(MPI_Sendrecv(OUT, s.peer, call_tag, IN, FROM, &s.status)))
            .arriving(Arrives::from_peer),
        paired("sendrecv_replace", STEP(MPI_Sendrecv_replace(IN, s.peer, call_tag, FROM, &s.status)))
            .arriving(Arrives::from_peer)
            .around(fill),
#ifdef SLOWPATH_HAVE_MPI_SESSIONS
        paired("isendrecv", STEP(MPI_Isendrecv(OUT, s.peer, call_tag, IN, FROM, REQUESTS)))
            .arriving(Arrives::from_peer)
            .where([] { return mpi::is_there(&MPI_Isendrecv); }),
        paired("isendrecv_replace", STEP(MPI_Isendrecv_replace(IN, s.peer, call_tag, FROM, REQUESTS)))
            .arriving(Arrives::from_peer)
            .around(fill)
            .where([] { return mpi::is_there(&MPI_Isendrecv_replace); }),
#endif
    };
}

std::vector<Row> completions() {
    return {
        receives("wait", STEP(MPI_Wait(REQUESTS, &s.status))).around(STEP(exchange(s, 1))),
        receives("test", STEP(until(s, [&] { return MPI_Test(REQUESTS, &s.flag, &s.status); })))
            .around(STEP(exchange(s, 1))),
        completes("waitall", STEP(MPI_Waitall(EIGHT, MPI_STATUSES_IGNORE))),
        completes("waitany", STEP(MPI_Waitany(EIGHT, &s.length, &s.status))),
        completes("waitsome", STEP(MPI_Waitsome(EIGHT, &s.number, s.places.data(), MPI_STATUSES_IGNORE))),
        completes("testall",
                  STEP(until(s, [&] { return MPI_Testall(EIGHT, &s.flag, MPI_STATUSES_IGNORE); }))),
        completes("testany",
                  STEP(until(s, [&] { return MPI_Testany(EIGHT, &s.length, &s.flag, &s.status); }))),
        completes(
            "testsome",
            STEP(until(s,
                       [&] { return MPI_Testsome(EIGHT, &s.flag, s.places.data(), MPI_STATUSES_IGNORE); }))),
    };
}

// One-sided: the first rank and the last one are origin and target of each other.

const Step free_window = STEP(s.window == MPI_WIN_NULL ? MPI_SUCCESS : MPI_Win_free(&s.window));

int prepare_memory(Stage& s) {
    s.exposed.resize(static_cast<std::size_t>(s.step));
    return MPI_SUCCESS;
}

int create_window(Stage& s) {
    s.memory = s.exposed.data();
    return MPI_Win_create(s.memory, s.window_bytes(), 8, MPI_INFO_NULL, s.world, &s.window);
}

const Step allocate_window = STEP(
    MPI_Win_allocate(s.window_bytes(), 8, MPI_INFO_NULL, s.world, static_cast<void*>(&s.memory), &s.window));
const Step allocate_shared_window = STEP(MPI_Win_allocate_shared(s.window_bytes(), 8, MPI_INFO_NULL, s.node,
                                                                 static_cast<void*>(&s.memory), &s.window));
const Step create_dynamic_window = STEP(MPI_Win_create_dynamic(MPI_INFO_NULL, s.world, &s.window));
const Step attach_memory = STEP(MPI_Win_attach(s.window, s.exposed.data(), s.window_bytes()));
const Step detach_memory = STEP(MPI_Win_detach(s.window, s.exposed.data()));

/// One of the kind that the cell asks for.
int make_window(Stage& s) {
    prepare_memory(s);
    switch (s.window_kind) {
        case WindowKind::create:
            return create_window(s);
        case WindowKind::allocate_shared:
            return allocate_shared_window(s);
        case WindowKind::dynamic: {
            if (const int code = create_dynamic_window(s); code != MPI_SUCCESS) return code;
            s.memory = s.exposed.data();
            MPI_Aint own = 0;
            return first_of({attach_memory(s), MPI_Get_address(s.memory, &own),
                             MPI_Sendrecv(&own, 1, MPI_AINT, s.is_paired ? s.peer : MPI_PROC_NULL, other_tag,
                                          &s.target, 1, MPI_AINT, s.is_paired ? s.peer : MPI_PROC_NULL,
                                          other_tag, s.world, &s.status)});
        }
        case WindowKind::allocate:
            break;
    }
    return allocate_window(s);
}

int close_window(Stage& s) {
    if (s.window_kind == WindowKind::dynamic) detach_memory(s);
    return free_window(s);
}

int open_locked(Stage& s) {
    if (const int code = make_window(s); code != MPI_SUCCESS) return code;
    for (int i = 0; i < s.count; ++i) static_cast<std::int64_t*>(s.memory)[s.at(i)] = content(s.rank, 0, i);
    return first_of({MPI_Win_lock_all(0, s.window), MPI_Win_sync(s.window), MPI_Barrier(s.world)});
}

const Step close_locked = STEP(MPI_Win_unlock_all(s.window), close_window(s));
const Step open_fenced = STEP(make_window(s), MPI_Win_fence(0, s.window));
const Step close_fenced = STEP(MPI_Win_fence(MPI_MODE_NOSUCCEED, s.window), close_window(s));

int open_for_peer(Stage& s) {
    MPI_Group every = MPI_GROUP_NULL;
    return first_of({make_window(s), MPI_Comm_group(s.world, &every),
                     MPI_Group_incl(every, 1, &s.peer, &s.group), MPI_Group_free(&every)});
}

const Step close_for_peer = STEP(MPI_Group_free(&s.group), close_window(s));
const Step put = STEP(MPI_Put(OUT, TARGET, s.window));
const Step flush = STEP(MPI_Win_flush(s.peer, s.window));
const Step lock = STEP(MPI_Win_lock(MPI_LOCK_SHARED, s.peer, 0, s.window));
const Step lock_all = STEP(MPI_Win_lock_all(0, s.window));
const Step unlock = STEP(MPI_Win_unlock(s.peer, s.window));
const Step unlock_all = STEP(MPI_Win_unlock_all(s.window));
const Step expose = STEP(MPI_Win_post(s.group, 0, s.window));
const Step begin_access = STEP(MPI_Win_start(s.group, 0, s.window));
const Step end_access = STEP(MPI_Win_complete(s.window));
const Step end_exposure = STEP(MPI_Win_wait(s.window));

Row on_window(const char* name, Step timed, Step before = nothing, Step after = nothing) {
    return paired(name, timed).opened(open_locked, close_locked).around(before, after);
}

Row accesses(const char* name, Step timed) {
    return on_window(name, timed, nothing, flush);
}

Row fetches(const char* name, Step timed) {
    return accesses(name, timed).arriving(Arrives::from_window);
}

Row for_peer(const char* name, Step timed, Step before, Step after = nothing) {
    return paired(name, timed).opened(open_for_peer, close_for_peer).around(before, after);
}

std::vector<Row> operations() {
    return {
        accesses("put", put),
        fetches("get", STEP(MPI_Get(IN, TARGET, s.window))),
        accesses("accumulate", STEP(MPI_Accumulate(OUT, TARGET, s.sum, s.window))),
        fetches("get_accumulate", STEP(MPI_Get_accumulate(OUT, IN, TARGET, s.sum, s.window))),
        accesses("fetch_and_op", STEP(MPI_Fetch_and_op(s.out.data(), s.in.data(), MPI_INT64_T, s.peer,
                                                       s.target, s.sum, s.window))),
        accesses("compare_and_swap", STEP(MPI_Compare_and_swap(s.out.data(), s.out.data(), s.in.data(),
                                                               MPI_INT64_T, s.peer, s.target, s.window))),
        accesses("rput", STEP(MPI_Rput(OUT, TARGET, s.window, &s.own))),
        fetches("rget", STEP(MPI_Rget(IN, TARGET, s.window, &s.own))),
        accesses("raccumulate", STEP(MPI_Raccumulate(OUT, TARGET, s.sum, s.window, &s.own))),
        fetches("rget_accumulate", STEP(MPI_Rget_accumulate(OUT, IN, TARGET, s.sum, s.window, &s.own))),
    };
}

std::vector<Row> synchronisations() {
    return {
        on_window("win_flush", flush, put),
        on_window("win_flush_all", STEP(MPI_Win_flush_all(s.window)), put),
        on_window("win_flush_local", STEP(MPI_Win_flush_local(s.peer, s.window)), put, flush),
        on_window("win_flush_local_all", STEP(MPI_Win_flush_local_all(s.window)), put, flush),
        on_window("win_sync", STEP(MPI_Win_sync(s.window))).times(many),
        on_window("win_lock", lock, nothing, unlock).opened(make_window, close_window),
        on_window("win_unlock", unlock, STEP(lock(s), put(s))).opened(make_window, close_window),
        on_window("win_lock_all", lock_all, nothing, unlock_all).opened(make_window, close_window),
        on_window("win_unlock_all", unlock_all, STEP(lock_all(s), put(s))).opened(make_window, close_window),
        Row{"win_fence", STEP(MPI_Win_fence(0, s.window))}
            .opened(open_fenced, close_fenced)
            .around(STEP(s.is_paired ? put(s) : MPI_SUCCESS)),
        for_peer("win_post", expose, nothing, STEP(begin_access(s), end_access(s), end_exposure(s))),
        for_peer("win_start", begin_access, expose, STEP(end_access(s), end_exposure(s))),
        for_peer("win_complete", end_access, STEP(expose(s), begin_access(s), put(s)), end_exposure),
        for_peer("win_wait", end_exposure, STEP(expose(s), begin_access(s), end_access(s))),
        for_peer("win_test", STEP(until(s, [&] { return MPI_Win_test(s.window, &s.flag); })),
                 STEP(expose(s), begin_access(s), end_access(s))),
    };
}

/// Its window is freed after each use.
Row makes_window(const char* name, Step timed) {
    return Row{name, timed}.around(nothing, free_window).opened(prepare_memory, nothing);
}

const Step make_window_key = STEP(
    make_window(s), MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &s.key, nullptr));
const Step free_window_key = STEP(close_window(s), MPI_Win_free_keyval(&s.key));

Row asks_window(const char* name, Step timed) {
    return local(name, timed).opened(make_window, close_window);
}

std::vector<Row> windows() {
    return {
        makes_window("win_create", create_window),
        makes_window("win_allocate", allocate_window),
        makes_window("win_allocate_shared", allocate_shared_window),
        makes_window("win_create_dynamic", create_dynamic_window),
        makes_window("win_free", free_window).around(make_window),
        makes_window("win_attach", attach_memory)
            .around(create_dynamic_window, STEP(detach_memory(s), free_window(s))),
        makes_window("win_detach", detach_memory)
            .around(STEP(create_dynamic_window(s), attach_memory(s)), free_window),
        asks_window("win_get_group",
                    STEP(MPI_Win_get_group(s.window, &s.made_group), MPI_Group_free(&s.made_group))),
        asks_window("win_set_attr", STEP(MPI_Win_set_attr(s.window, s.key, &s)))
            .opened(make_window_key, free_window_key),
        asks_window("win_get_attr",
                    [](Stage& s) {
                        void* value = nullptr;
                        return MPI_Win_get_attr(s.window, MPI_WIN_BASE, static_cast<void*>(&value), &s.flag);
                    }),
        asks_window("win_get_info",
                    STEP(MPI_Win_get_info(s.window, &s.made_info), MPI_Info_free(&s.made_info))),
        asks_window("win_set_name", STEP(MPI_Win_set_name(s.window, "calls"))),
    };
}

}  // namespace

std::vector<Row> message_rows() {
    return joined({sendings(), persistent(), partitions(), receptions(), completions(), operations(),
                   synchronisations(), windows()});
}

namespace {

const Row* row_of(const std::string& name, const std::string& request) {
    static const std::vector<Row> rows = joined({message_rows(), collective_rows(), object_rows()});
    const auto row = std::ranges::find_if(
        rows, [&](const Row& one) { return one.name == name && one.request == request; });
    return row == rows.end() || (row->is_there != nullptr && !row->is_there()) ? nullptr : &*row;
}

void add(void* in, void* in_out, int* length, MPI_Datatype*) {
    for (int i = 0; i < *length; ++i)
        static_cast<std::int64_t*>(in_out)[i] += static_cast<std::int64_t*>(in)[i];
}

class CallUse final : public Use {
  public:
    CallUse(const Context& context, const Config& config)
        : name_(config.request == "none" ? config.call : config.call + " of " + config.request),
          row_(row_of(config.call, config.request)),
          config_(config),
          control_(context.session.control()),
          clock_(context.clock),
          stage_{.rank = context.session.rank(),
                 .size = context.session.size(),
                 .count = static_cast<int>(config.message_bytes / 8),
                 .peer = context.session.rank() == 0 ? context.session.size() - 1 : 0,
                 .from = 0,
                 .root = config.root == Root::first ? 0 : context.session.size() - 1,
                 .is_paired =
                     context.session.rank() == 0 || context.session.rank() == context.session.size() - 1} {
        if (row_ == nullptr) return;
        Stage& s = stage_;
        s.from = config.source == Source::any ? MPI_ANY_SOURCE : s.peer;
        s.window_kind = config.window;
        make_buffers();
        s.sum = MPI_SUM;
        if (config.op == Op::user) mpi::check(MPI_Op_create(add, 1, &s.sum), "MPI_Op_create");
        s.types.fill(MPI_INT64_T);
        for (std::size_t i = 0; i < blocks; ++i) {
            s.lengths[i] = 1 + static_cast<int>(i % 2);
            s.places[i] = static_cast<int>(4 * i);
            s.byte_places[i] = static_cast<MPI_Aint>(32 * i);
        }
        const char* const folder = std::getenv("TMPDIR");
        s.world = MPI_COMM_WORLD;
        if (config.communicator == Communicator::duplicate)
            mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &s.world), "MPI_Comm_dup");
        // One of each cell: Open MPI 5.0.11 opens no file on a communicator whose last one was preallocated.
        mpi::check(MPI_Comm_split_type(s.world, MPI_COMM_TYPE_SHARED, s.rank, MPI_INFO_NULL, &s.node),
                   "MPI_Comm_split_type");
        // The first rank of a node names its file: two nodes may share the folder.
        s.path =
            mpi::text_of_root(s.node, std::string(folder != nullptr ? folder : "/tmp") + "/slowpath-calls-" +
                                          std::to_string(getpid()) + "-" + std::to_string(context.cell));
        if (row_->most_ranks < s.size || obstacle()) return;
        if (row_->is_on_ring) note(first_of({ring(s), keep_made(s)}));
        note(row_->open(s));
        is_open_ = !refusal_;
    }
    ~CallUse() override {
        if (row_ == nullptr) return;
        if (is_open_) row_->close(stage_);
        if (is_open_ && row_->is_on_ring) MPI_Comm_free(&stage_.neighbours);
        if (config_.op == Op::user) MPI_Op_free(&stage_.sum);
        if (stage_.unit != MPI_INT64_T) MPI_Type_free(&stage_.unit);
        MPI_Comm_free(&stage_.node);
        if (stage_.world != MPI_COMM_WORLD) MPI_Comm_free(&stage_.world);
    }

    std::optional<std::string> obstacle() const override {
        if (row_ == nullptr) return "this MPI library has no such call: " + name_;
        if (row_->most_ranks < stage_.size)
            return "call=" + name_ + " needs every rank in a pair, the job has " +
                   std::to_string(stage_.size);
        if (stage_.count % stage_.run != 0)
            return "message_bytes " + std::to_string(stage_.bytes()) + " do not make " +
                   std::to_string(config_.blocks) + " equal blocks of 8 B each";
        return refusal_;
    }

    void prepare() override {
        ++number_;
        Stage& s = stage_;
        const bool adds_nothing = row_->arrives == Arrives::from_window;
        for (int i = 0; i < s.count; ++i) s.out[s.at(i)] = adds_nothing ? 0 : content(s.rank, number_, i);
        if (row_->arrives != Arrives::nowhere) std::ranges::fill(s.in, -1);
        if (takes_part()) mpi::check(row_->before(s), "what precedes the call");
        is_posted_ = s.requests[0] != MPI_REQUEST_NULL;
        meet();
    }

    int in_a_row() const override { return row_->in_a_row; }

    int use(Marks&) override {
        if (takes_part() && !refusal_) note(row_->timed(stage_));
        return MPI_SUCCESS;
    }

    /// What one library refuses is no error of another one's run.
    std::optional<std::string> refusal() const override { return mpi::first_text(control_, refusal_); }

    std::optional<Span> complete() override {
        Stage& s = stage_;
        // What follows may be the flush of an MPI_Rget: once a persistent collective was freed, Intel MPI
        // 2021.18.1 crashes in MPI_Wait for one that was not flushed.
        if (!takes_part() || row_->after != nothing) return std::nullopt;
        const bool is_started = row_->request != std::string_view("none");
        MPI_Request* const begun = is_started ? &s.persistent : s.own != MPI_REQUEST_NULL ? &s.own : REQUESTS;
        if (*begun == MPI_REQUEST_NULL || (begun == REQUESTS && is_posted_)) return std::nullopt;
        const std::int64_t begin_ns = clock_.now_ns();
        mpi::check(MPI_Wait(begun, MPI_STATUS_IGNORE), "MPI_Wait");
        return Span{begin_ns, clock_.now_ns()};
    }

    void finish() override {
        Stage& s = stage_;
        if (takes_part()) mpi::check(row_->after(s), "what follows the call");
        mpi::check(MPI_Waitall(EIGHT, MPI_STATUSES_IGNORE), "MPI_Waitall");
        mpi::check(MPI_Waitall(most_messages, s.sent.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        for (MPI_Request* request : {&s.own, &s.persistent, &s.other})
            mpi::check(MPI_Wait(request, MPI_STATUS_IGNORE), "MPI_Wait");
        meet();
        const int from = sender();
        if (!config_.validate || from < 0) return;
        const std::int64_t number = row_->arrives == Arrives::from_window ? 0 : number_;
        std::int64_t wrong = 0;
        for (int message = 0; message < row_->messages; ++message)
            for (int i = 0; i < s.count; ++i)
                if (s.arriving(message)[s.at(i)] != content(from, number, i)) wrong += 8;
        judge(s.bytes() * row_->messages, wrong, "after call " + std::to_string(number_));
    }

  private:
    /// Messages in one piece, or in blocks with gaps as long between.
    void make_buffers() {
        Stage& s = stage_;
        const bool is_vector = config_.datatype == Datatype::vector;
        const int pieces = is_vector ? static_cast<int>(config_.blocks) : 1;
        s.run = std::max(1, s.count / pieces);
        s.step = (2 * pieces - 1) * s.run;
        s.items = is_vector ? 1 : s.count;
        s.unit = MPI_INT64_T;
        if (is_vector) {
            mpi::check(MPI_Type_vector(pieces, s.run, 2 * s.run, MPI_INT64_T, &s.unit), "MPI_Type_vector");
            mpi::check(MPI_Type_commit(&s.unit), "MPI_Type_commit");
        }
        const int room = row_->is_of_all ? s.size : 1;
        s.out.resize(static_cast<std::size_t>(s.step) * static_cast<std::size_t>(room));
        s.in.resize(static_cast<std::size_t>(s.step) *
                    static_cast<std::size_t>(std::max(room, row_->messages)));
        for (int i = 0; i < s.size && row_->is_of_all; ++i) {
            s.counts.push_back(s.items);
            s.displacements.push_back(s.items * i);
            s.byte_displacements.push_back(s.step * 8 * i);
            s.places_of_all.push_back(static_cast<MPI_Aint>(s.step) * 8 * i);
            s.units.push_back(s.unit);
        }
        s.given = config_.in_place ? MPI_IN_PLACE : s.out.data();
        for (auto* const requests : {&s.requests, &s.sent, &s.started}) requests->fill(MPI_REQUEST_NULL);
    }

    /// Of a pair, one that has left the library moves nothing on: neither a buffered message nor the other's
    /// lock.
    void meet() {
        if (row_->who == Who::pair) mpi::check(MPI_Barrier(stage_.world), "MPI_Barrier");
    }

    bool takes_part() const { return row_->who == Who::all || stage_.is_paired; }

    /// Whose message this rank has; -1: it has none.
    int sender() const {
        if (row_->arrives == Arrives::nowhere || !takes_part()) return -1;
        return row_->arrives == Arrives::at_itself ? stage_.rank : stage_.peer;
    }

    void note(int code) {
        if (code != MPI_SUCCESS && !refusal_)
            refusal_ = mpi::Error(name_.c_str(), code, std::source_location::current()).what();
    }

    std::string name_;
    const Row* row_;
    Config config_;
    MPI_Comm control_;
    MonotonicClock clock_;
    bool is_open_ = false, is_posted_ = false;  // posted: before the call, the first request
    Stage stage_;
    std::optional<std::string> refusal_;
    std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Use> call_use(const Context& context, const Config& config) {
    return std::make_unique<CallUse>(context, config);
}

}  // namespace slowpath::first_use
