// SPDX-License-Identifier: Apache-2.0
// MPI between copies through pinned memory of the CPU: what a program does whose MPI takes no device memory.
#include "memory/buffer.hpp"
#include "memory/gpu_driver.hpp"
#include "mpi/check.hpp"
#include "nccl/contestant.hpp"
#include "nccl/mpi_calls.hpp"

namespace slowpath::nccl {
namespace {

memory::Request pinned(std::int64_t elements, int device) {
    memory::Request request;
    request.kind = memory::Kind::pinned_host;
    request.device = device;  // of this rank: pinning makes it the current one
    request.bytes = static_cast<std::size_t>(elements * element_bytes);
    return request;
}

class ByStagedMpi : public Contestant {
  public:
    explicit ByStagedMpi(int device) : device_(device) {}

    std::optional<std::string> obstacle(const Call&) const override {
        return memory::unavailable(memory::Kind::pinned_host);
    }
    std::optional<std::string> open(const Step& step) override {
        step(Part::init, [this] { communicator_ = duplicate_of_world(); });
        return std::nullopt;
    }
    void prepare(const Call& call) override {
        from_.emplace(pinned(call.sent(), device_));
        to_.emplace(pinned(call.received(), device_));
    }
    void submit(const Call& call, const std::byte* from, std::byte* to) override {
        memory::GpuDriver& driver = *memory::GpuDriver::instance();
        const auto sent = static_cast<std::size_t>(call.sent() * element_bytes);
        const auto received = static_cast<std::size_t>(call.received() * element_bytes);
        if (sent != 0) driver.copy_out({from_->data(), sent}, from);
        call_mpi(call, from_->data(), to_->data(), communicator_);
        if (received != 0) driver.copy_in(to, {to_->data(), received});
    }
    void close() override {
        mpi::check(MPI_Comm_free(&communicator_), "MPI_Comm_free");
        from_.reset();
        to_.reset();
    }

  private:
    int device_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::optional<memory::Buffer> from_, to_;
};

}  // namespace

const ContestantKind by_mpi_staged{"mpi_staged",
                                   [](const Context&, const Stream& stream) -> std::unique_ptr<Contestant> {
                                       return std::make_unique<ByStagedMpi>(stream.device());
                                   }};

}  // namespace slowpath::nccl
