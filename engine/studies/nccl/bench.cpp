// SPDX-License-Identifier: Apache-2.0
#include "nccl/bench.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/json.hpp"
#include "memory/gpu_driver.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"

namespace slowpath::nccl {
namespace {

int forget(MPI_Comm, int, void* all, void*) {
    delete static_cast<Kept*>(all);
    return MPI_SUCCESS;
}

int key() {
    static const int made = [] {
        int value = MPI_KEYVAL_INVALID;
        mpi::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &value, nullptr),
                   "MPI_Comm_create_keyval");
        return value;
    }();
    return made;
}

std::optional<std::string> local_obstacle(int node_rank, int& device) {
    memory::CudaDriver* const driver = memory::CudaDriver::instance();
    if (driver == nullptr)
        return memory::CudaDriver::unavailable() + "; the experiment nccl needs an NVIDIA GPU";
    try {
        device = node_rank % driver->device_count();
        driver->use(device, 0);
    } catch (const std::exception& error) {
        return error.what();
    }
    return std::nullopt;
}

}  // namespace

std::optional<std::string> take_device(const Context& context, int& device) {
    return mpi::first_text(context.session.control(), local_obstacle(context.session.node_rank(), device));
}

Kept& kept(const Context& context, int device) {
    const MPI_Comm control = context.session.control();
    void* found = nullptr;
    int there = 0;
    mpi::check(MPI_Comm_get_attr(control, key(), static_cast<void*>(&found), &there), "MPI_Comm_get_attr");
    if (there != 0) return *static_cast<Kept*>(found);
    auto made = std::make_unique<Kept>(*memory::CudaDriver::instance(), device);
    mpi::check(MPI_Comm_set_attr(control, key(), made.get()), "MPI_Comm_set_attr");
    return *made.release();
}

Kept::~Kept() {
    for (Entry& entry : entries_) {
        try {
            if (entry.contestant) entry.contestant->close();
        } catch (const std::exception&) {  // the launch is over; nothing that was measured depends on it
        }
    }
}

Contestant* Kept::opened(const Context& context, const ContestantKind& kind) {
    for (Entry& entry : entries_)
        if (entry.name == kind.name) return entry.contestant.get();
    Entry entry{kind.name, kind.make(context, stream), std::nullopt};
    stream.make_current();
    entry.reason = entry.contestant->open([](Part, const std::function<void()>& body) { body(); });
    if (entry.reason) entry.contestant.reset();
    return entries_.emplace_back(std::move(entry)).contestant.get();
}

std::optional<std::string> Kept::why_not(std::string_view name) const {
    for (const Entry& entry : entries_)
        if (entry.name == name) return entry.reason;
    return std::nullopt;
}

Bench::Bench(const Context& context, const Stream& stream)
    : context_(context),
      stream_(stream),
      ranks_([&] {
          std::vector<int> all(static_cast<std::size_t>(context.session.size()));
          std::iota(all.begin(), all.end(), 0);
          return all;
      }()),
      barrier_(context.session.control(), ranks_) {}

std::array<std::int64_t, 3> Bench::timed(Contestant& contestant, const Call& call, Buffers& buffers) const {
    const MonotonicClock clock = context_.clock;
    const std::byte* const from = buffers.from();
    std::byte* const to = buffers.to();
    barrier_.wait();
    const std::int64_t begin_ns = clock.now_ns();
    if (call.takes_part()) contestant.submit(call, from, to);
    const std::int64_t submitted_ns = clock.now_ns();
    stream_.synchronise();
    const std::int64_t end_ns = clock.now_ns();
    return {begin_ns, submitted_ns, end_ns};
}

void Bench::call(Contestant& contestant, const Call& call, Buffers& buffers, Series& to) const {
    const auto [begin_ns, submitted_ns, end_ns] = timed(contestant, call, buffers);
    to.add(Part::whole, begin_ns, end_ns);
    to.add(Part::submit, begin_ns, submitted_ns);
    to.add(Part::wait, submitted_ns, end_ns);
}

void Bench::call(Contestant& contestant, const Call& call, Buffers& buffers) const {
    timed(contestant, call, buffers);
}

std::int64_t Bench::decide(std::int64_t mine) const {
    return mpi::decision_of_first(context_.session.control(), ranks_, mine);
}

void record_library(const Context& context, const Contestant& contestant, GroupMember& member) {
    const std::string text = contestant.described();
    if (text.empty() || context.session.rank() != 0) return;
    JsonObject note;
    note.text("text", text).integer("cell", member.cell).integer("rank", 0);
    member.record.events += "note " + note.fields() + "\n";
}

void finish(const Context& context, const Buffers& buffers, GroupMember& member) {
    const MPI_Comm control = context.session.control();
    const std::array mine{buffers.compared_bytes, buffers.wrong_bytes};
    const std::vector<std::int64_t> all = mpi::reduce(control, mine, MPI_SUM);
    Outcome& outcome = member.outcome;
    outcome.validated_bytes += all[0];
    outcome.wrong_bytes += all[1];
    const auto wrong = mpi::first_text(control, buffers.first_wrong);
    if (!wrong || outcome.status == Status::failed) return;
    outcome.status = Status::failed;
    outcome.reason = *wrong;
}

void skip(GroupMember& member, const std::string& reason) {
    member.outcome.status = Status::skipped;
    member.outcome.reason = reason;
}

}  // namespace slowpath::nccl
