// SPDX-License-Identifier: Apache-2.0
/// Communicators made one after the other, all kept: MPI-4.1 section 7.4.2.
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
    }
    ~CommunicatorUse() override {
        for (MPI_Comm& one : made_) MPI_Comm_free(&one);
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
        }
        return MPI_ERR_INTERN;
    }

    void finish() override {
        made_.push_back(fresh_);
        int rank = -1, size = -1;
        mpi::check(MPI_Comm_rank(fresh_, &rank), "MPI_Comm_rank");
        mpi::check(MPI_Comm_size(fresh_, &size), "MPI_Comm_size");
        judge(1, rank != rank_ || size != size_ ? 1 : 0,
              "of communicator " + std::to_string(made_.size()) + " (rank and size)");
    }

  private:
    MadeBy made_by_;
    int rank_, size_;
    MPI_Group everyone_ = MPI_GROUP_NULL;
    MPI_Comm fresh_ = MPI_COMM_NULL;
    std::vector<MPI_Comm> made_;
};

}  // namespace

std::unique_ptr<Use> communicator_use(const Context& context, const Config& config) {
    return std::make_unique<CommunicatorUse>(context, config);
}

}  // namespace slowpath::first_use
