// SPDX-License-Identifier: Apache-2.0
// NCCL, on the same stream and the same buffers.
#include <cstdlib>
#include <stdexcept>

#include "mpi/agree.hpp"
#include "mpi/check.hpp"
#include "nccl/contestant.hpp"
#include "nccl/nccl_library.hpp"

namespace slowpath::nccl {
namespace {

class ByNccl : public Contestant {
  public:
    ByNccl(const Context& context, const Stream& stream) : session_(context.session), stream_(stream.get()) {}

    std::optional<std::string> obstacle(const Call&) const override { return std::nullopt; }
    std::optional<std::string> open(const Step& step) override;
    void submit(const Call& call, const std::byte* from, std::byte* to) override;
    void close() override {
        library_->check(library_->call().ncclCommDestroy(communicator_), "ncclCommDestroy");
        communicator_ = nullptr;
    }
    std::map<Part, double> init_parts() const override { return library_->init_timings(); }
    std::string described() const override;

  private:
    void check(Result result, const char* call) const {
        if (result != 0) [[unlikely]]
            library_->check(result, call, communicator_);
    }
    /// Runs the body; what it threw goes to `failure`.
    template <class Body>
    void guarded(const Body& body);
    void send(const Call& call, const std::byte* from, std::byte* to) const;
    void alltoall(const Call& call, const std::byte* from, std::byte* to) const;

    const mpi::Session& session_;
    CudaStream stream_;
    Library* library_ = nullptr;
    Communicator communicator_ = nullptr;
    std::optional<std::string> failure_;
};

template <class Body>
void ByNccl::guarded(const Body& body) {
    try {
        body();
    } catch (const std::exception& error) {
        failure_ = error.what();
    }
}

std::optional<std::string> ByNccl::open(const Step& step) {
    UniqueId id;
    const auto load = [this] { guarded([this] { library_ = &Library::load(); }); };
    if (Library::is_loaded())
        load();
    else
        step(Part::load, load);
    step(Part::unique_id, [&] {
        if (session_.rank() == 0 && !failure_)
            guarded([&] { check(library_->call().ncclGetUniqueId(&id), "ncclGetUniqueId"); });
    });
    std::optional<std::string> reason;
    step(Part::share_id, [&] {
        reason = mpi::first_text(session_.control(), failure_);
        mpi::check(
            MPI_Bcast(id.bytes.data(), static_cast<int>(id.bytes.size()), MPI_BYTE, 0, session_.control()),
            "MPI_Bcast");
    });
    if (reason) return reason;
    // As ncclCommInitRank does first of all, before its own clock runs: NCCL's own runtime starts, and loads
    // all kernels where CUDA_MODULE_LOADING=EAGER.  On rank 0 ncclGetUniqueId may have done it.
    if (library_->call().ncclMemFree != nullptr)
        step(Part::runtime, [&] {
            guarded([&] { check(library_->call().ncclMemFree(nullptr), "ncclMemFree"); });
            reason = mpi::first_text(session_.control(), failure_);
        });
    if (reason) return reason;
    library_->forget_report();
    step(Part::init, [&] {
        guarded([&] {
            check(library_->call().ncclCommInitRank(&communicator_, session_.size(), id, session_.rank()),
                  "ncclCommInitRank");
        });
    });
    return mpi::first_text(session_.control(), failure_);
}

void ByNccl::send(const Call& call, const std::byte* from, std::byte* to) const {
    const auto count = static_cast<std::size_t>(call.count);
    if (call.rank == 0)
        check(library_->call().ncclSend(from, count, type_float, 1, communicator_, stream_), "ncclSend");
    else
        check(library_->call().ncclRecv(to, count, type_float, 0, communicator_, stream_), "ncclRecv");
}

/// As NCCL's user guide has it ("Point-to-point communication"): all sends and receives in one group.
void ByNccl::alltoall(const Call& call, const std::byte* from, std::byte* to) const {
    const auto count = static_cast<std::size_t>(call.count);
    const auto stride = static_cast<std::ptrdiff_t>(call.count * element_bytes);
    check(library_->call().ncclGroupStart(), "ncclGroupStart");
    for (int peer = 0; peer < call.ranks; ++peer) {
        check(
            library_->call().ncclSend(from + peer * stride, count, type_float, peer, communicator_, stream_),
            "ncclSend");
        check(library_->call().ncclRecv(to + peer * stride, count, type_float, peer, communicator_, stream_),
              "ncclRecv");
    }
    check(library_->call().ncclGroupEnd(), "ncclGroupEnd");
}

void ByNccl::submit(const Call& call, const std::byte* from, std::byte* to) {
    const Functions& f = library_->call();
    const auto count = static_cast<std::size_t>(call.count);
    switch (call.operation) {
        case Operation::send:
            return send(call, from, to);
        case Operation::alltoall:
            return alltoall(call, from, to);
        case Operation::allreduce:
            return check(f.ncclAllReduce(from, to, count, type_float, sum, communicator_, stream_),
                         "ncclAllReduce");
        case Operation::bcast: {
            // In place, as MPI_Bcast: the root's buffer is the one that it gives.
            std::byte* const data = call.rank == 0 ? const_cast<std::byte*>(from) : to;
            return check(f.ncclBroadcast(data, data, count, type_float, 0, communicator_, stream_),
                         "ncclBroadcast");
        }
        case Operation::allgather:
            return check(f.ncclAllGather(from, to, count, type_float, communicator_, stream_),
                         "ncclAllGather");
        case Operation::reduce_scatter:
            return check(f.ncclReduceScatter(from, to, count, type_float, sum, communicator_, stream_),
                         "ncclReduceScatter");
    }
    throw std::logic_error("unknown operation");
}

std::string ByNccl::described() const {
    if (library_ == nullptr) return {};
    const char* const multicast = std::getenv("NCCL_NVLS_ENABLE");
    return library_->name() + " from " + library_->file() +
           ", NCCL_NVLS_ENABLE=" + (multicast == nullptr ? "" : multicast);
}

}  // namespace

const ContestantKind by_nccl{"nccl",
                             [](const Context& context, const Stream& stream) -> std::unique_ptr<Contestant> {
                                 return std::make_unique<ByNccl>(context, stream);
                             }};

}  // namespace slowpath::nccl
