// SPDX-License-Identifier: Apache-2.0
#include "first_use/calls.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "first_use/uses.hpp"
#include "mpi/optional.hpp"
#include "mpi/session.hpp"
#include "mpi/together.hpp"

namespace slowpath::first_use {
namespace {

constexpr int parts_of_message = 4;

// Messages from rank 0 to the last one. Of a sending call the receive is posted before, of a receiving one
// the send is under way; what is not timed is completed afterwards.

int post(Stage& s, int messages) {
    int code = MPI_SUCCESS;
    for (int i = 0; s.is_last && i < messages && code == MPI_SUCCESS; ++i)
        code = MPI_Irecv(s.arriving(i), s.count, MPI_INT64_T, 0, call_tag, s.world,
                         &s.requests[static_cast<std::size_t>(i)]);
    return code;
}

int send_off(Stage& s, int messages) {
    int code = MPI_SUCCESS;
    for (int i = 0; s.is_first && i < messages && code == MPI_SUCCESS; ++i)
        code = MPI_Isend(OUT, TO, &s.requests[static_cast<std::size_t>(i)]);
    return code;
}

int receive(Stage& s, int from = 0, int of_tag = call_tag) {
    return MPI_Recv(IN, from, of_tag, s.world, &s.status);
}

int receive_matched(Stage& s) {
    return MPI_Mrecv(IN, &s.message, &s.status);
}

Row sends(const char* name, Step timed) {
    return Row{name, timed}.by(Who::first).arriving(Arrives::at_last).around(STEP(post(s, 1)));
}

Row receives(const char* name, Step timed) {
    return Row{name, timed}.by(Who::last).arriving(Arrives::at_last).around(STEP(send_off(s, 1)));
}

/// Eight of them, open when the call begins.
Row completes(const char* name, Step timed) {
    return receives(name, timed)
        .of(most_messages)
        .around(STEP(post(s, most_messages), send_off(s, most_messages)));
}

int attach(Stage& s) {
    s.attached.resize(static_cast<std::size_t>(s.bytes()) + MPI_BSEND_OVERHEAD);
    return MPI_Buffer_attach(s.attached.data(), static_cast<int>(s.attached.size()));
}

int detach(Stage& s) {
    void* buffer = nullptr;
    return MPI_Buffer_detach(static_cast<void*>(&buffer), &s.number);
}

int free_persistent(Stage& s) {
    return s.persistent == MPI_REQUEST_NULL ? MPI_SUCCESS : MPI_Request_free(&s.persistent);
}

#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
int init_partitions(Stage& s) {
    const MPI_Count each = s.count / parts_of_message;
    if (s.count % parts_of_message != 0) return MPI_ERR_COUNT;
    if (s.is_first)
        return MPI_Psend_init(s.out.data(), parts_of_message, each, MPI_INT64_T, TO, MPI_INFO_NULL,
                              &s.persistent);
    if (!s.is_last) return MPI_SUCCESS;
    return MPI_Precv_init(s.in.data(), parts_of_message, each, MPI_INT64_T, 0, call_tag, s.world,
                          MPI_INFO_NULL, &s.persistent);
}
#endif

template <class Ask>
int until(Stage& s, Ask ask) {
    s.flag = 0;
    int code = MPI_SUCCESS;
    while (code == MPI_SUCCESS && s.flag == 0) code = ask();
    return code;
}

/// Until eight are complete.  @param complete Sets s.number where that is not one more each time.
template <class Complete>
int eight(Stage& s, Complete complete) {
    s.number = 1;
    int code = MPI_SUCCESS;
    for (int done = 0; done < most_messages && code == MPI_SUCCESS; done += s.number) code = complete();
    return code;
}

std::vector<Row> sendings() {
    return {
        sends("send", STEP(MPI_Send(OUT, TO))),
        sends("ssend", STEP(MPI_Ssend(OUT, TO))),
        sends("rsend", STEP(MPI_Rsend(OUT, TO))),
        sends("bsend", STEP(MPI_Bsend(OUT, TO))).opened(attach, detach),
        sends("isend", STEP(MPI_Isend(OUT, TO, REQUESTS), wait(s))),
        sends("issend", STEP(MPI_Issend(OUT, TO, REQUESTS), wait(s))),
        sends("irsend", STEP(MPI_Irsend(OUT, TO, REQUESTS), wait(s))),
        sends("ibsend", STEP(MPI_Ibsend(OUT, TO, REQUESTS), wait(s))).opened(attach, detach),
        sends("start", STEP(MPI_Start(s.started.data()), MPI_Wait(s.started.data(), &s.status)))
            .opened(init_sends, free_sends),
        sends("startall", STEP(MPI_Startall(most_messages, s.started.data()),
                               MPI_Waitall(most_messages, s.started.data(), MPI_STATUSES_IGNORE)))
            .opened(init_sends, free_sends)
            .of(most_messages)
            .around(STEP(post(s, most_messages))),
        sends("start_ssend", STEP(MPI_Start(&s.persistent), MPI_Wait(&s.persistent, &s.status)))
            .opened(STEP(MPI_Ssend_init(OUT, TO, &s.persistent)), free_persistent),
        sends("start_rsend", STEP(MPI_Start(&s.persistent), MPI_Wait(&s.persistent, &s.status)))
            .opened(STEP(MPI_Rsend_init(OUT, TO, &s.persistent)), free_persistent),
        Row{"buffer_attach", attach}.around(nothing, detach),
        Row{"buffer_detach", detach}.around(attach),
        Row{"send_init", STEP(MPI_Send_init(OUT, TO, &s.persistent), MPI_Request_free(&s.persistent))}.times(
            many),
        Row{"recv_init",
            STEP(MPI_Recv_init(IN, 0, call_tag, s.world, &s.persistent), MPI_Request_free(&s.persistent))}
            .times(many),
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
        Row{"psend", STEP(MPI_Start(&s.persistent), MPI_Pready_range(0, parts_of_message - 1, s.persistent),
                          MPI_Wait(&s.persistent, &s.status))}
            .by(Who::first)
            .arriving(Arrives::at_last)
            .opened(init_partitions, free_persistent)
            .around(STEP(s.is_last ? MPI_Start(&s.persistent) : MPI_SUCCESS),
                    STEP(s.is_last ? MPI_Wait(&s.persistent, &s.status) : MPI_SUCCESS))
            .with(&Row::most_ranks, 2)  // Open MPI makes a communicator of all ranks at the first start
            .with(
                &Row::is_there, +[] { return mpi::is_there(&MPI_Psend_init); }),
#endif
    };
}

std::vector<Row> receptions() {
    return {
        receives("recv", STEP(receive(s))),
        receives("recv_any_source", STEP(receive(s, MPI_ANY_SOURCE))),
        receives("recv_any_tag", STEP(receive(s, 0, MPI_ANY_TAG))),
        receives("irecv", STEP(MPI_Irecv(IN, 0, call_tag, s.world, REQUESTS), wait(s))),
        receives("start_recv", STEP(MPI_Start(&s.persistent), MPI_Wait(&s.persistent, &s.status)))
            .opened(STEP(MPI_Recv_init(IN, 0, call_tag, s.world, &s.persistent)), free_persistent),
        receives("probe", STEP(MPI_Probe(0, call_tag, s.world, &s.status), receive(s))),
        receives(
            "iprobe",
            STEP(until(s, [&] { return MPI_Iprobe(0, call_tag, s.world, &s.flag, &s.status); }), receive(s))),
        receives("imrecv", STEP(MPI_Mprobe(0, call_tag, s.world, &s.message, &s.status),
                                MPI_Imrecv(IN, &s.message, REQUESTS), wait(s))),
        receives("mprobe", STEP(MPI_Mprobe(0, call_tag, s.world, &s.message, &s.status), receive_matched(s))),
        receives(
            "improbe",
            STEP(until(s, [&] { return MPI_Improbe(0, call_tag, s.world, &s.flag, &s.message, &s.status); }),
                 receive_matched(s))),
    };
}

std::vector<Row> completions() {
    return {
        completes("waitall", STEP(MPI_Waitall(EIGHT, MPI_STATUSES_IGNORE))),
        completes("waitany", STEP(eight(s, [&] { return MPI_Waitany(EIGHT, &s.length, &s.status); })))
            .holding(most_messages),
        completes(
            "waitsome",
            STEP(eight(
                s, [&] { return MPI_Waitsome(EIGHT, &s.number, s.places.data(), MPI_STATUSES_IGNORE); }))),
        completes("testall",
                  STEP(until(s, [&] { return MPI_Testall(EIGHT, &s.flag, MPI_STATUSES_IGNORE); }))),
        completes("testany", STEP(eight(s,
                                        [&] {
                                            return until(s, [&] {
                                                return MPI_Testany(EIGHT, &s.length, &s.flag, &s.status);
                                            });
                                        })))
            .holding(most_messages),
        completes(
            "testsome",
            STEP(eight(
                s, [&] { return MPI_Testsome(EIGHT, &s.number, s.places.data(), MPI_STATUSES_IGNORE); }))),
        Row{"sendrecv", STEP(MPI_Sendrecv(OUT, s.peer, call_tag, IN, s.peer, call_tag, s.world, &s.status))}
            .by(Who::both)
            .arriving(Arrives::at_both),
        Row{"sendrecv_replace",
            STEP(MPI_Sendrecv_replace(IN, s.peer, call_tag, s.peer, call_tag, s.world, &s.status))}
            .by(Who::both)
            .arriving(Arrives::at_both)
            .around([](Stage& s) {
                s.in = s.out;
                return MPI_SUCCESS;
            }),
        Row{"request_free", STEP(MPI_Request_free(REQUESTS))}
            .by(Who::first)
            .arriving(Arrives::at_last)
            .around(STEP(post(s, 1), send_off(s, 1))),
        Row{"cancel", STEP(MPI_Cancel(REQUESTS))}.by(Who::last).around([](Stage& s) {
            if (!s.is_last) return MPI_SUCCESS;
            return MPI_Irecv(IN, 0, other_tag, s.world, REQUESTS);
        }),
    };
}

// One-sided: rank 0 is the origin, the last one the target.

int allocate_window(Stage& s) {
    return MPI_Win_allocate(s.bytes(), 8, MPI_INFO_NULL, s.world, static_cast<void*>(&s.memory), &s.window);
}

int free_window(Stage& s) {
    return s.window == MPI_WIN_NULL ? MPI_SUCCESS : MPI_Win_free(&s.window);
}

int open_window(Stage& s) {
    if (const int code = allocate_window(s); code != MPI_SUCCESS) return code;
    for (int i = 0; i < s.count; ++i) static_cast<std::int64_t*>(s.memory)[i] = content(s.rank, 0, i);
    return first_of({MPI_Win_lock_all(0, s.window), MPI_Win_sync(s.window), MPI_Barrier(s.world)});
}

int close_window(Stage& s) {
    return first_of({MPI_Win_unlock_all(s.window), MPI_Win_free(&s.window)});
}

int open_window_with_key(Stage& s) {
    return first_of({open_window(s),
                     MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, MPI_WIN_NULL_DELETE_FN, &s.key, nullptr)});
}

int close_window_with_key(Stage& s) {
    return first_of({close_window(s), MPI_Win_free_keyval(&s.key)});
}

int put(Stage& s) {
    if (!s.is_first) return MPI_SUCCESS;
    return MPI_Put(OUT, TARGET, s.window);
}

Row on_window(const char* name, Step timed) {
    return Row{name, timed}.by(Who::first).opened(open_window, close_window);
}

/// Its window is freed after each use.
Row makes_window(const char* name, Step timed) {
    return Row{name, timed}.around(nothing, free_window);
}

std::vector<Row> accesses() {
    return {
        on_window("get_accumulate", STEP(MPI_Get_accumulate(OUT, IN, TARGET, MPI_SUM, s.window),
                                         MPI_Win_flush(s.last, s.window)))
            .arriving(Arrives::at_first),
        on_window("rget", STEP(MPI_Rget(IN, TARGET, s.window, REQUESTS), wait(s)))
            .arriving(Arrives::at_first),
        on_window("raccumulate", STEP(MPI_Raccumulate(OUT, TARGET, MPI_SUM, s.window, REQUESTS), wait(s),
                                      MPI_Win_flush(s.last, s.window))),
        on_window("rget_accumulate",
                  STEP(MPI_Rget_accumulate(OUT, IN, TARGET, MPI_SUM, s.window, REQUESTS), wait(s)))
            .arriving(Arrives::at_first),
        on_window("win_flush_all", STEP(MPI_Win_flush_all(s.window))).around(put),
        on_window("win_flush_local_all", STEP(MPI_Win_flush_local_all(s.window))).around(put),
        on_window("win_sync", STEP(MPI_Win_sync(s.window))).by(Who::all).times(many),
        on_window("win_get_group",
                  STEP(MPI_Win_get_group(s.window, &s.made_group), MPI_Group_free(&s.made_group)))
            .by(Who::all)
            .times(many),
        on_window("win_set_attr", STEP(MPI_Win_set_attr(s.window, s.key, &s)))
            .by(Who::all)
            .opened(open_window_with_key, close_window_with_key)
            .times(many),
        on_window("win_get_attr",
                  [](Stage& s) {
                      void* value = nullptr;
                      return MPI_Win_get_attr(s.window, MPI_WIN_BASE, static_cast<void*>(&value), &s.flag);
                  })
            .by(Who::all)
            .times(many),
        on_window("win_set_name", STEP(MPI_Win_set_name(s.window, "calls"))).by(Who::all).times(many),
        Row{"win_lock_all", STEP(MPI_Win_lock_all(0, s.window), MPI_Win_unlock_all(s.window))}
            .by(Who::first)
            .opened(allocate_window, free_window)
            .times(10),
    };
}

std::vector<Row> windows() {
    return {
        makes_window("win_create",
                     STEP(MPI_Win_create(s.in.data(), s.bytes(), 8, MPI_INFO_NULL, s.world, &s.window))),
        makes_window("win_allocate", allocate_window),
        makes_window("win_allocate_shared",
                     STEP(MPI_Win_allocate_shared(s.bytes(), 8, MPI_INFO_NULL, s.node,
                                                  static_cast<void*>(&s.memory), &s.window))),
        makes_window("win_create_dynamic", STEP(MPI_Win_create_dynamic(MPI_INFO_NULL, s.world, &s.window))),
        Row{"win_free", free_window}.around(allocate_window),
        Row{"win_detach", STEP(MPI_Win_detach(s.window, s.in.data()))}
            .opened(STEP(MPI_Win_create_dynamic(MPI_INFO_NULL, s.world, &s.window)), free_window)
            .around(STEP(MPI_Win_attach(s.window, s.in.data(), s.bytes()))),
        Row{"win_attach",
            STEP(MPI_Win_attach(s.window, s.in.data(), s.bytes()), MPI_Win_detach(s.window, s.in.data()))}
            .opened(STEP(MPI_Win_create_dynamic(MPI_INFO_NULL, s.world, &s.window)), free_window)
            .times(10),
    };
}

}  // namespace

std::vector<Row> message_rows() {
    return joined({sendings(), receptions(), completions(), accesses(), windows()});
}

namespace {

const Row* row_of(const std::string& name) {
    static const std::vector<Row> rows = joined({message_rows(), object_rows()});
    const auto row =
        std::ranges::find(rows, name, [](const Row& candidate) { return std::string(candidate.name); });
    return row == rows.end() || (row->is_there != nullptr && !row->is_there()) ? nullptr : &*row;
}

class CallUse final : public Use {
  public:
    CallUse(const Context& context, const Config& config)
        : name_(config.call),
          row_(row_of(name_)),
          control_(context.session.control()),
          clock_(context.clock),
          idle_ns_(std::llround(config.idle_s * 1e9)),
          validate_(config.validate),
          stage_{.rank = context.session.rank(),
                 .size = context.session.size(),
                 .count = static_cast<int>(config.message_bytes / 8),
                 .is_first = context.session.rank() == 0,
                 .is_last = context.session.rank() == context.session.size() - 1,
                 .last = context.session.size() - 1,
                 .peer = context.session.rank() == 0 ? context.session.size() - 1 : 0} {
        if (row_ == nullptr) return;
        Stage& s = stage_;
        const auto count = static_cast<std::size_t>(s.count);
        s.out.resize(count);
        s.in.resize(count * static_cast<std::size_t>(row_->messages));
        s.requests.fill(MPI_REQUEST_NULL);
        s.started.fill(MPI_REQUEST_NULL);
        s.types.fill(MPI_INT64_T);
        for (std::size_t i = 0; i < blocks; ++i) {
            s.lengths[i] = 1 + static_cast<int>(i % 2);
            s.places[i] = static_cast<int>(4 * i);
            s.byte_places[i] = static_cast<MPI_Aint>(32 * i);
        }
        const char* const folder = std::getenv("TMPDIR");
        mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &s.world), "MPI_Comm_dup");
        mpi::check(MPI_Comm_split_type(s.world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &s.node),
                   "MPI_Comm_split_type");
        // The first rank of a node names its file: two nodes may share the folder.
        s.path =
            mpi::text_of_root(s.node, std::string(folder != nullptr ? folder : "/tmp") + "/slowpath-calls-" +
                                          std::to_string(getpid()) + "-" + std::to_string(s.rank));
        if (row_->most_ranks < s.size) return;
        note(row_->open(s));
        is_open_ = !refusal_;
    }
    ~CallUse() override {
        if (row_ == nullptr) return;
        if (is_open_) row_->close(stage_);
        MPI_Comm_free(&stage_.node);
        MPI_Comm_free(&stage_.world);
    }

    std::optional<std::string> obstacle() const override {
        if (row_ == nullptr) return "this MPI library has no such call: " + name_;
        if (row_->most_ranks < stage_.size)
            return "call=" + name_ + " needs every rank in a pair, the job has " +
                   std::to_string(stage_.size);
        return refusal_;
    }

    void prepare() override {
        ++number_;
        const bool adds_nothing = row_->arrives == Arrives::at_first;
        for (int i = 0; i < stage_.count; ++i)
            stage_.out[static_cast<std::size_t>(i)] = adds_nothing ? 0 : content(stage_.rank, number_, i);
        std::ranges::fill(stage_.in, -1);
        mpi::check(row_->before(stage_), "what precedes the call");
        const std::int64_t end_ns = clock_.now_ns() + idle_ns_;
        while (idle_ns_ > 0 && clock_.now_ns() < end_ns) {
        }
    }

    int batch() const override { return times() * row_->calls; }

    int use(Marks&) override {
        if (!takes_part()) return MPI_SUCCESS;
        int code = MPI_SUCCESS;
        for (int i = times(); i > 0 && code == MPI_SUCCESS; --i) code = row_->timed(stage_);
        note(code);
        return MPI_SUCCESS;
    }

    /// What one library refuses is no error of another one's run.
    std::optional<std::string> refusal() const override { return mpi::first_text(control_, refusal_); }

    void finish() override {
        mpi::check(MPI_Waitall(most_messages, stage_.requests.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        // A buffered message goes on only while its sender is inside the library.
        if (row_->arrives != Arrives::nowhere) mpi::check(MPI_Barrier(stage_.world), "MPI_Barrier");
        mpi::check(row_->after(stage_), "what follows the call");
        const int from = sender();
        if (!validate_ || from < 0) return;
        const std::int64_t number = row_->arrives == Arrives::at_first ? 0 : number_;
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < stage_.in.size(); ++i)
            if (stage_.in[i] != content(from, number, static_cast<std::int64_t>(i) % stage_.count))
                wrong += 8;
        judge(static_cast<std::int64_t>(stage_.in.size()) * 8, wrong,
              "after call " + std::to_string(number_));
    }

  private:
    int times() const { return number_ == 1 ? 1 : row_->batch; }

    bool takes_part() const {
        const Who who = row_->who;
        return who == Who::all || (who != Who::last && stage_.is_first) ||
               (who != Who::first && stage_.is_last);
    }

    /// Whose message this rank has; -1: it has none.
    int sender() const {
        switch (row_->arrives) {
            case Arrives::nowhere:
                return -1;
            case Arrives::at_last:
                return stage_.is_last ? 0 : -1;
            case Arrives::at_both:
                return stage_.is_first || stage_.is_last ? stage_.peer : -1;
            case Arrives::at_first:
                return stage_.is_first ? stage_.last : -1;
            case Arrives::at_itself:
                return stage_.rank;
        }
        return -1;
    }

    void note(int code) {
        if (code != MPI_SUCCESS && !refusal_)
            refusal_ = mpi::Error(name_.c_str(), code, std::source_location::current()).what();
    }

    std::string name_;
    const Row* row_;
    MPI_Comm control_;
    MonotonicClock clock_;
    std::int64_t idle_ns_;
    bool validate_, is_open_ = false;
    Stage stage_;
    std::optional<std::string> refusal_;
    std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Use> call_use(const Context& context, const Config& config) {
    return std::make_unique<CallUse>(context, config);
}

}  // namespace slowpath::first_use
