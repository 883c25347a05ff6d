// SPDX-License-Identifier: Apache-2.0
// MPI, given device memory.
#include "mpi/check.hpp"
#include "mpi/device_memory.hpp"
#include "nccl/contestant.hpp"
#include "nccl/mpi_calls.hpp"

namespace slowpath::nccl {
namespace {

class ByMpi : public Contestant {
  public:
    std::optional<std::string> obstacle(const Call& call) const override {
        return call.operation == Operation::send ? mpi::messages_refuse_device()
                                                 : mpi::collectives_refuse_device();
    }
    std::optional<std::string> open(const Step& step) override {
        step(Part::init, [this] { communicator_ = duplicate_of_world(); });
        return std::nullopt;
    }
    void submit(const Call& call, const std::byte* from, std::byte* to) override {
        call_mpi(call, from, to, communicator_);
    }
    void close() override { mpi::check(MPI_Comm_free(&communicator_), "MPI_Comm_free"); }

  private:
    MPI_Comm communicator_ = MPI_COMM_NULL;
};

}  // namespace

const ContestantKind by_mpi{"mpi", [](const Context&, const Stream&) -> std::unique_ptr<Contestant> {
                                return std::make_unique<ByMpi>();
                            }};

}  // namespace slowpath::nccl
