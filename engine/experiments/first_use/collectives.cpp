// SPDX-License-Identifier: Apache-2.0
/// Calls of one collective on one communicator, from the first one on.
#include <vector>

#include "first_use/use.hpp"
#include "mpi/check.hpp"

namespace slowpath::first_use {
namespace {

using Numbers = std::vector<std::int64_t>;

bool has_blocks_to_send(Collective which) {
    return which == Collective::scatter || which == Collective::alltoall ||
           which == Collective::reduce_scatter_block;
}

bool has_blocks_to_receive(Collective which) {
    return which == Collective::gather || which == Collective::allgather || which == Collective::alltoall;
}

class CollectiveUse final : public Use {
  public:
    CollectiveUse(const Context& context, const Config& config)
        : which_(config.collective),
          validate_(config.validate),
          rank_(context.session.rank()),
          size_(context.session.size()),
          count_(static_cast<int>(config.message_bytes / 8)),
          owned_(config.communicator == Communicator::duplicate),
          out_(static_cast<std::size_t>(count_) * (has_blocks_to_send(which_) ? ranks() : 1)),
          in_(static_cast<std::size_t>(count_) * (has_blocks_to_receive(which_) ? ranks() : 1)) {
        if (owned_) mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
    }
    ~CollectiveUse() override {
        if (owned_) MPI_Comm_free(&communicator_);
    }

    void prepare() override {
        ++number_;
        for (std::size_t i = 0; i < out_.size(); ++i) out_[i] = sent(rank_, static_cast<std::int64_t>(i));
        in_.assign(in_.size(), -1);
        // A broadcast's buffer is the same on both sides.
        if (which_ == Collective::bcast && rank_ == 0) in_ = out_;
    }

    int use(Marks&) override {
        const MPI_Comm on = communicator_;
        const void* const out = out_.data();
        void* const in = in_.data();
        const MPI_Datatype type = MPI_INT64_T;  // no constant expression under Open MPI
        switch (which_) {
            case Collective::barrier:
                return MPI_Barrier(on);
            case Collective::bcast:
                return MPI_Bcast(in, count_, type, 0, on);
            case Collective::gather:
                return MPI_Gather(out, count_, type, in, count_, type, 0, on);
            case Collective::scatter:
                return MPI_Scatter(out, count_, type, in, count_, type, 0, on);
            case Collective::allgather:
                return MPI_Allgather(out, count_, type, in, count_, type, on);
            case Collective::alltoall:
                return MPI_Alltoall(out, count_, type, in, count_, type, on);
            case Collective::reduce:
                return MPI_Reduce(out, in, count_, type, MPI_SUM, 0, on);
            case Collective::allreduce:
                return MPI_Allreduce(out, in, count_, type, MPI_SUM, on);
            case Collective::reduce_scatter_block:
                return MPI_Reduce_scatter_block(out, in, count_, type, MPI_SUM, on);
            case Collective::scan:
                return MPI_Scan(out, in, count_, type, MPI_SUM, on);
            case Collective::exscan:
                return MPI_Exscan(out, in, count_, type, MPI_SUM, on);
        }
        return MPI_ERR_INTERN;
    }

    void finish() override {
        if (!validate_ || !receives()) return;
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < in_.size(); ++i)
            if (in_[i] != expected(static_cast<std::int64_t>(i))) wrong += 8;
        judge(static_cast<std::int64_t>(in_.size()) * 8, wrong, "after call " + std::to_string(number_));
    }

  private:
    std::size_t ranks() const { return static_cast<std::size_t>(size_); }
    std::int64_t sent(int rank, std::int64_t i) const { return content(rank, number_, i); }

    bool receives() const {
        switch (which_) {
            case Collective::barrier:
                return false;
            case Collective::gather:
            case Collective::reduce:
                return rank_ == 0;
            case Collective::exscan:
                return rank_ > 0;  // rank 0's buffer is not defined (MPI-4.1 section 6.11.2)
            default:
                return true;
        }
    }

    /// Of the ranks before `end`, number i.
    std::int64_t sum_of(int end, std::int64_t i) const {
        std::int64_t sum = 0;
        for (int rank = 0; rank < end; ++rank) sum += sent(rank, i);
        return sum;
    }

    std::int64_t expected(std::int64_t i) const {
        const int from = static_cast<int>(i / count_);  // whose block it is
        switch (which_) {
            case Collective::bcast:
                return sent(0, i);
            case Collective::gather:
            case Collective::allgather:
                return sent(from, i % count_);
            case Collective::scatter:
                return sent(0, rank_ * count_ + i);
            case Collective::alltoall:
                return sent(from, rank_ * count_ + i % count_);
            case Collective::reduce:
            case Collective::allreduce:
                return sum_of(size_, i);
            case Collective::reduce_scatter_block:
                return sum_of(size_, rank_ * count_ + i);
            case Collective::scan:
                return sum_of(rank_ + 1, i);
            case Collective::exscan:
                return sum_of(rank_, i);
            case Collective::barrier:
                break;
        }
        return 0;
    }

    Collective which_;
    bool validate_;
    int rank_, size_, count_;
    bool owned_;
    MPI_Comm communicator_ = MPI_COMM_WORLD;
    Numbers out_, in_;
    std::int64_t number_ = 0;
};

}  // namespace

std::unique_ptr<Use> collective_use(const Context& context, const Config& config) {
    return std::make_unique<CollectiveUse>(context, config);
}

}  // namespace slowpath::first_use
