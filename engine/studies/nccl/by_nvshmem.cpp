// SPDX-License-Identifier: Apache-2.0
// NVSHMEM, called by the CPU, on the same stream.  It reads and writes its symmetric heap alone, so that the
// data is copied there before a call and from there after it, outside the timed region.
#include <cstdlib>
#include <stdexcept>

#include "core/error.hpp"
#include "mpi/agree.hpp"
#include "mpi/check.hpp"
#include "nccl/contestant.hpp"
#include "nccl/nvshmem_library.hpp"

namespace slowpath::nccl {
namespace {

bool used_up = false;  // NVSHMEM is initialised once a process here

class ByNvshmem : public Contestant {
  public:
    ByNvshmem(const Context& context, const Stream& stream) : session_(context.session), stream_(stream) {}

    std::optional<std::string> obstacle(const Call& call) const override;
    std::optional<std::string> open(const Step& step) override;
    void prepare(const Call& call) override { needed_bytes_ = 2 * element_bytes * call.count * call.ranks; }
    bool has_own_memory() const override { return true; }
    void take(const Call& call, const std::byte* from) override;
    void deliver(const Call& call, std::byte* to) override;
    void submit(const Call& call, const std::byte* from, std::byte* to) override;
    void close() override;
    std::string described() const override;

  private:
    /// Collective: both buffers as long as the last prepare() has it.
    void allocate();
    void copy(std::byte* to, const std::byte* from, std::int64_t bytes) const;
    /// Where a call's result is: that with one element has a place of its own.
    float* result(const Call& call) const;
    static void check(int result, const char* call) {
        if (result != 0) [[unlikely]]
            throw EnvironmentFailure(std::string(call) + " failed: " + std::to_string(result));
    }

    const mpi::Session& session_;
    const Stream& stream_;
    ShmemLibrary* library_ = nullptr;
    std::int64_t needed_bytes_ = 0;  // of each of the two buffers, the same on all ranks
    std::int64_t allocated_bytes_ = 0;
    std::byte* from_ = nullptr;
    std::byte* to_ = nullptr;
    bool open_ = false;
};

std::optional<std::string> ByNvshmem::obstacle(const Call& call) const {
    if (call.operation == Operation::send && call.ranks > 2)
        return "NVSHMEM's put is followed by a barrier of all ranks, and a message is of two: take 2 ranks";
    return std::nullopt;
}

std::optional<std::string> ByNvshmem::open(const Step& step) {
    if (used_up) return "NVSHMEM was in use in this process before, and is initialised once a process";
    used_up = true;
    std::optional<std::string> failure;
    const auto guarded = [&failure](const auto& body) {
        try {
            body();
        } catch (const std::exception& error) {
            failure = error.what();
        }
    };
    ShmemId id;
    step(Part::load, [&] { guarded([&] { library_ = &ShmemLibrary::load(); }); });
    step(Part::unique_id, [&] {
        if (session_.rank() == 0 && !failure)
            guarded([&] { check(library_->call().nvshmemx_get_uniqueid(&id), "nvshmemx_get_uniqueid"); });
    });
    std::optional<std::string> reason;
    step(Part::share_id, [&] {
        reason = mpi::first_text(session_.control(), failure);
        mpi::check(MPI_Bcast(&id, static_cast<int>(sizeof id), MPI_BYTE, 0, session_.control()), "MPI_Bcast");
    });
    if (reason) return reason;
    step(Part::init, [&] {
        guarded([&] {
            const ShmemFunctions& f = library_->call();
            ShmemStart start;
            check(f.nvshmemx_set_attr_uniqueid_args(session_.rank(), session_.size(), &id, &start),
                  "nvshmemx_set_attr_uniqueid_args");
            check(f.nvshmemx_hostlib_init_attr(start_with_id, &start), "nvshmemx_hostlib_init_attr");
            open_ = true;
        });
    });
    return mpi::first_text(session_.control(), failure);
}

void ByNvshmem::allocate() {
    if (allocated_bytes_ == needed_bytes_) return;
    const ShmemFunctions& f = library_->call();
    for (std::byte** const data : {&from_, &to_}) {
        if (*data != nullptr) f.nvshmem_free(*data);
        *data = static_cast<std::byte*>(f.nvshmem_malloc(static_cast<std::size_t>(needed_bytes_)));
        if (*data == nullptr)
            throw EnvironmentFailure("nvshmem_malloc failed for " + std::to_string(needed_bytes_) +
                                     " bytes; NVSHMEM_SYMMETRIC_SIZE sets the length of its heap");
    }
    allocated_bytes_ = needed_bytes_;
}

void ByNvshmem::copy(std::byte* to, const std::byte* from, std::int64_t bytes) const {
    using CopyAsync = memory::CudaResult(memory::CudaDevicePointer, memory::CudaDevicePointer, std::size_t,
                                         memory::CudaStream);
    if (bytes == 0) return;
    memory::CudaDriver& driver = *memory::CudaDriver::instance();
    auto* const copy_async = reinterpret_cast<CopyAsync*>(driver.find("cuMemcpyDtoDAsync_v2"));
    if (copy_async == nullptr) throw EnvironmentFailure("the CUDA driver lacks cuMemcpyDtoDAsync_v2");
    const auto length = static_cast<std::size_t>(bytes);
    driver.check(copy_async(reinterpret_cast<memory::CudaDevicePointer>(to),
                            reinterpret_cast<memory::CudaDevicePointer>(from), length, stream_.get()),
                 "cuMemcpyDtoDAsync", length);
    stream_.synchronise();
}

float* ByNvshmem::result(const Call& call) const {
    return reinterpret_cast<float*>(to_ + (call.count == 1 ? needed_bytes_ / 2 : 0));
}

void ByNvshmem::take(const Call& call, const std::byte* from) {
    allocate();
    copy(from_, from, call.sent() * element_bytes);
    mpi::check(MPI_Barrier(session_.control()), "MPI_Barrier");
}

void ByNvshmem::deliver(const Call& call, std::byte* to) {
    copy(to, reinterpret_cast<const std::byte*>(result(call)), call.received() * element_bytes);
    mpi::check(MPI_Barrier(session_.control()), "MPI_Barrier");
}

void ByNvshmem::submit(const Call& call, const std::byte*, std::byte*) {
    const ShmemFunctions& f = library_->call();
    const auto count = static_cast<std::size_t>(call.count);
    float* const to = result(call);
    const auto* const from = reinterpret_cast<const float*>(from_);
    const auto collective = [&](ShmemCollective function, const char* name) {
        check(function(all_ranks, to, from, count, stream_.get()), name);
    };
    switch (call.operation) {
        case Operation::send:
            if (call.rank == 0)
                f.nvshmemx_putmem_on_stream(to, from, count * element_bytes, 1, stream_.get());
            return f.nvshmemx_barrier_all_on_stream(stream_.get());
        case Operation::allreduce:
            return collective(f.nvshmemx_float_sum_reduce_on_stream, "nvshmemx_float_sum_reduce_on_stream");
        case Operation::reduce_scatter:
            return collective(f.nvshmemx_float_sum_reducescatter_on_stream,
                              "nvshmemx_float_sum_reducescatter_on_stream");
        case Operation::allgather:
            return collective(f.nvshmemx_float_fcollect_on_stream, "nvshmemx_float_fcollect_on_stream");
        case Operation::alltoall:
            return collective(f.nvshmemx_float_alltoall_on_stream, "nvshmemx_float_alltoall_on_stream");
        case Operation::bcast:
            return check(f.nvshmemx_float_broadcast_on_stream(all_ranks, to, from, count, 0, stream_.get()),
                         "nvshmemx_float_broadcast_on_stream");
    }
    throw std::logic_error("unknown operation");
}

void ByNvshmem::close() {
    if (!open_) return;
    const ShmemFunctions& f = library_->call();
    for (std::byte* const data : {from_, to_})
        if (data != nullptr) f.nvshmem_free(data);
    f.nvshmemx_hostlib_finalize();
    from_ = to_ = nullptr;
    open_ = false;
}

std::string ByNvshmem::described() const {
    if (library_ == nullptr) return {};
    const char* const no_multicast = std::getenv("NVSHMEM_DISABLE_NVLS");
    return library_->name() + " from " + library_->file() +
           ", NVSHMEM_DISABLE_NVLS=" + (no_multicast == nullptr ? "" : no_multicast);
}

}  // namespace

const ContestantKind by_nvshmem{
    "nvshmem", [](const Context& context, const Stream& stream) -> std::unique_ptr<Contestant> {
        return std::make_unique<ByNvshmem>(context, stream);
    }};

}  // namespace slowpath::nccl
