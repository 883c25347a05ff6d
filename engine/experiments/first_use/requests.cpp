// SPDX-License-Identifier: Apache-2.0
/// Persistent and partitioned requests: made anew in each use, and started.
#include <array>
#include <vector>

#include "first_use/uses.hpp"
#include "mpi/optional.hpp"
#include "mpi/session.hpp"

#ifdef SLOWPATH_HAVE_MPI_PERSISTENT_COLLECTIVES
#pragma weak MPI_Allreduce_init
#endif

namespace slowpath::first_use {
namespace {

constexpr int tag = 78;
constexpr int partitions = 4;

/// A message from each rank to the next one, around a ring.
class Ring : public Use {
  public:
    Ring(const Context& context, const Config& config)
        : validate_(config.validate),
          clock_(context.clock),
          rank_(context.session.rank()),
          size_(context.session.size()),
          count_(static_cast<int>(config.message_bytes / 8)),
          out_(static_cast<std::size_t>(count_)),
          in_(static_cast<std::size_t>(count_)) {
        mpi::check(MPI_Comm_dup(MPI_COMM_WORLD, &communicator_), "MPI_Comm_dup");
    }
    ~Ring() override { MPI_Comm_free(&communicator_); }

    int parts() const override { return 2; }

    void prepare() override {
        ++number_;
        for (std::size_t i = 0; i < out_.size(); ++i)
            out_[i] = content(rank_, number_, static_cast<std::int64_t>(i));
        in_.assign(in_.size(), -1);
    }

    void finish() override {
        for (MPI_Request& one : requests_)
            if (one != MPI_REQUEST_NULL) mpi::check(MPI_Request_free(&one), "MPI_Request_free");
        if (!validate_) return;
        std::int64_t wrong = 0;
        for (std::size_t i = 0; i < in_.size(); ++i)
            if (in_[i] != expected(static_cast<std::int64_t>(i))) wrong += 8;
        judge(static_cast<std::int64_t>(in_.size()) * 8, wrong, "after start " + std::to_string(number_));
    }

  protected:
    int to() const { return (rank_ + 1) % size_; }
    int from() const { return (rank_ + size_ - 1) % size_; }
    virtual std::int64_t expected(std::int64_t i) const { return content(from(), number_, i); }

    bool validate_;
    MonotonicClock clock_;
    int rank_, size_, count_;
    MPI_Comm communicator_ = MPI_COMM_NULL;
    std::vector<std::int64_t> out_, in_;
    std::array<MPI_Request, 2> requests_{MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::int64_t number_ = 0;
};

class PersistentSend final : public Ring {
  public:
    using Ring::Ring;

    int use(Marks& marks) override {
        int code = MPI_Recv_init(in_.data(), count_, MPI_INT64_T, from(), tag, communicator_, &requests_[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Send_init(out_.data(), count_, MPI_INT64_T, to(), tag, communicator_, &requests_[1]);
        marks.first_ns = clock_.now_ns();
        if (code == MPI_SUCCESS) code = MPI_Startall(2, requests_.data());
        if (code == MPI_SUCCESS) code = MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE);
        marks.second_ns = clock_.now_ns();
        return code;
    }
};

class PersistentAllreduce final : public Ring {
  public:
    using Ring::Ring;

    std::optional<std::string> obstacle() const override {
#ifdef SLOWPATH_HAVE_MPI_PERSISTENT_COLLECTIVES
        if (mpi::is_there(&MPI_Allreduce_init)) return std::nullopt;
#endif
        return "this MPI library has no MPI_Allreduce_init";
    }

    int use([[maybe_unused]] Marks& marks) override {
#ifdef SLOWPATH_HAVE_MPI_PERSISTENT_COLLECTIVES
        int code = MPI_Allreduce_init(out_.data(), in_.data(), count_, MPI_INT64_T, MPI_SUM, communicator_,
                                      MPI_INFO_NULL, &requests_[0]);
        marks.first_ns = clock_.now_ns();
        if (code == MPI_SUCCESS) code = MPI_Start(&requests_[0]);
        if (code == MPI_SUCCESS) code = MPI_Wait(&requests_[0], MPI_STATUS_IGNORE);
        marks.second_ns = clock_.now_ns();
        return code;
#else
        return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
    }

  private:
    std::int64_t expected(std::int64_t i) const override {
        std::int64_t sum = 0;
        for (int rank = 0; rank < size_; ++rank) sum += content(rank, number_, i);
        return sum;
    }
};

class Partitioned final : public Ring {
  public:
    using Ring::Ring;

    int parts() const override { return 3; }

    std::optional<std::string> obstacle() const override {
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
        if (count_ % partitions != 0)
            return "message_bytes " + std::to_string(count_ * 8) +
                   " do not make 4 equal partitions of 8 B each";
        if (mpi::is_there(&MPI_Psend_init)) return std::nullopt;
#endif
        return "this MPI library has no partitioned communication";
    }

    int use([[maybe_unused]] Marks& marks) override {
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
        const MPI_Count each = count_ / partitions;
        int code = MPI_Precv_init(in_.data(), partitions, each, MPI_INT64_T, from(), tag, communicator_,
                                  MPI_INFO_NULL, &requests_[0]);
        if (code == MPI_SUCCESS)
            code = MPI_Psend_init(out_.data(), partitions, each, MPI_INT64_T, to(), tag, communicator_,
                                  MPI_INFO_NULL, &requests_[1]);
        marks.first_ns = clock_.now_ns();
        if (code == MPI_SUCCESS) code = start();
        marks.second_ns = clock_.now_ns();
        if (code == MPI_SUCCESS) code = start();
        return code;
#else
        return MPI_ERR_UNSUPPORTED_OPERATION;
#endif
    }

  private:
#ifdef SLOWPATH_HAVE_MPI_PARTITIONED
    int start() {
        int code = MPI_Startall(2, requests_.data());
        if (code == MPI_SUCCESS) code = MPI_Pready_range(0, partitions - 1, requests_[1]);
        return code == MPI_SUCCESS ? MPI_Waitall(2, requests_.data(), MPI_STATUSES_IGNORE) : code;
    }
#endif
};

}  // namespace

std::unique_ptr<Use> persistent_use(const Context& context, const Config& config) {
    if (config.persistent == Persistent::send) return std::make_unique<PersistentSend>(context, config);
    return std::make_unique<PersistentAllreduce>(context, config);
}

std::unique_ptr<Use> partitioned_use(const Context& context, const Config& config) {
    return std::make_unique<Partitioned>(context, config);
}

}  // namespace slowpath::first_use
