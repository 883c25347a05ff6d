// SPDX-License-Identifier: Apache-2.0
/// Communicators made one after the other, all kept: MPI-4.1 sections 7.4.2 and 7.6.
#include <vector>

#include "first_use/use.hpp"
#include "mpi/check.hpp"

namespace slowpath::first_use {
namespace {

class CommunicatorUse final : public Use {
  public:
    CommunicatorUse(const Context& context, const Config& config)
        : made_by_(config.made_by), rank_(context.session.rank()), size_(context.session.size()) {
        made_.reserve(static_cast<std::size_t>(config.uses));
        mpi::check(MPI_Comm_group(MPI_COMM_WORLD, &everyone_), "MPI_Comm_group");
        if (made_by_ != MadeBy::intercommunicator && made_by_ != MadeBy::merge) return;
        mpi::check(MPI_Comm_split(MPI_COMM_WORLD, is_upper() ? 1 : 0, rank_, &half_), "MPI_Comm_split");
        if (made_by_ == MadeBy::merge) mpi::check(connect(&halves_), "MPI_Intercomm_create");
    }
    ~CommunicatorUse() override {
        for (MPI_Comm& one : made_) MPI_Comm_free(&one);
        for (MPI_Comm* one : {&halves_, &half_})
            if (*one != MPI_COMM_NULL) MPI_Comm_free(one);
        MPI_Group_free(&everyone_);
    }

    int use(Marks&) override {
        switch (made_by_) {
            case MadeBy::duplicate:
                return MPI_Comm_dup(MPI_COMM_WORLD, &fresh_);
            case MadeBy::split:
                return MPI_Comm_split(MPI_COMM_WORLD, 0, rank_, &fresh_);
            case MadeBy::create:
                return MPI_Comm_create(MPI_COMM_WORLD, everyone_, &fresh_);
            case MadeBy::intercommunicator:
                return connect(&fresh_);
            case MadeBy::merge:
                return MPI_Intercomm_merge(halves_, is_upper() ? 1 : 0, &fresh_);
        }
        return MPI_ERR_INTERN;
    }

    void finish() override {
        made_.push_back(fresh_);
        int rank = -1, size = -1;
        mpi::check(MPI_Comm_rank(fresh_, &rank), "MPI_Comm_rank");
        mpi::check(MPI_Comm_size(fresh_, &size), "MPI_Comm_size");
        const bool halves = made_by_ == MadeBy::intercommunicator;
        const int first = halves && is_upper() ? upper() : 0;
        const int members = !halves ? size_ : is_upper() ? size_ - upper() : upper();
        judge(1, rank != rank_ - first || size != members ? 1 : 0,
              "of communicator " + std::to_string(made_.size()) + " (rank and size)");
    }

  private:
    /// The first rank of the upper half.
    int upper() const { return size_ / 2; }
    bool is_upper() const { return rank_ >= upper(); }
    /// Between the two halves. @return An MPI error code.
    int connect(MPI_Comm* made) const {
        constexpr int tag = 79;
        return MPI_Intercomm_create(half_, 0, MPI_COMM_WORLD, is_upper() ? 0 : upper(), tag, made);
    }

    MadeBy made_by_;
    int rank_, size_;
    MPI_Group everyone_ = MPI_GROUP_NULL;
    MPI_Comm half_ = MPI_COMM_NULL, halves_ = MPI_COMM_NULL;  ///< this rank's half; the two connected
    MPI_Comm fresh_ = MPI_COMM_NULL;
    std::vector<MPI_Comm> made_;
};

}  // namespace

std::unique_ptr<Use> communicator_use(const Context& context, const Config& config) {
    return std::make_unique<CommunicatorUse>(context, config);
}

}  // namespace slowpath::first_use
