// SPDX-License-Identifier: Apache-2.0
#include "put/window.hpp"

#include <array>
#include <stdexcept>

#include "mpi/session.hpp"
#include "put/program_memory.hpp"

namespace slowpath::put {
namespace {

/// The info object of a table's line; MPI_INFO_NULL for none.
class Info {
  public:
    explicit Info(const WindowInfo& info) {
        if (info.key.empty()) return;
        mpi::check(MPI_Info_create(&info_), "MPI_Info_create");
        mpi::check(MPI_Info_set(info_, std::string(info.key).c_str(), std::string(info.value).c_str()),
                   "MPI_Info_set");
    }
    ~Info() {
        if (info_ != MPI_INFO_NULL) MPI_Info_free(&info_);
    }
    Info(const Info&) = delete;
    Info& operator=(const Info&) = delete;
    MPI_Info handle() const { return info_; }

  private:
    MPI_Info info_ = MPI_INFO_NULL;
};

}  // namespace

Window::Window(WindowKind kind, std::size_t bytes, const WindowInfo& info, const Pair& pair) {
    const Info keys(info);
    if (kind == WindowKind::create || kind == WindowKind::dynamic) {
        own_.emplace(program_memory(bytes));
        base_ = own_->data();
    }
    make(kind, static_cast<MPI_Aint>(bytes), keys.handle(), pair.communicator());
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
    if (kind == WindowKind::dynamic) attach(static_cast<MPI_Aint>(bytes), pair);
}

void Window::make(WindowKind kind, MPI_Aint bytes, MPI_Info info, MPI_Comm communicator) {
    switch (kind) {
        case WindowKind::allocate:
            mpi::check(MPI_Win_allocate(bytes, unit_bytes_, info, communicator, &base_, &window_),
                       "MPI_Win_allocate");
            return;
        case WindowKind::create:
            mpi::check(MPI_Win_create(base_, bytes, unit_bytes_, info, communicator, &window_),
                       "MPI_Win_create");
            return;
        case WindowKind::allocate_shared:
            mpi::check(MPI_Win_allocate_shared(bytes, unit_bytes_, info, communicator, &base_, &window_),
                       "MPI_Win_allocate_shared");
            return;
        case WindowKind::dynamic:
            mpi::check(MPI_Win_create_dynamic(info, communicator, &window_), "MPI_Win_create_dynamic");
            unit_bytes_ = 1;
            return;
    }
    throw std::logic_error("unknown window kind");
}

void Window::attach(MPI_Aint bytes, const Pair& pair) {
    mpi::check(MPI_Win_attach(window_, base_, bytes), "MPI_Win_attach");
    attached_ = true;
    // A displacement in a dynamic window is the target's own address (MPI-4.1 section 12.2.4).
    MPI_Aint mine = 0;
    mpi::check(MPI_Get_address(base_, &mine), "MPI_Get_address");
    std::array<MPI_Aint, 2> all{};
    mpi::check(MPI_Allgather(&mine, 1, MPI_AINT, all.data(), 1, MPI_AINT, pair.communicator()),
               "MPI_Allgather");
    first_displacement_ = all[Pair::target];
}

std::vector<std::pair<std::string, std::string>> Window::kept_info() const {
    MPI_Info info = MPI_INFO_NULL;
    int keys = 0;
    mpi::check(MPI_Win_get_info(window_, &info), "MPI_Win_get_info");
    mpi::check(MPI_Info_get_nkeys(info, &keys), "MPI_Info_get_nkeys");
    std::vector<std::pair<std::string, std::string>> kept;
    for (int i = 0; i < keys; ++i) {
        std::array<char, MPI_MAX_INFO_KEY + 1> key{};
        std::array<char, MPI_MAX_INFO_VAL + 1> value{};
        int found = 0;
        mpi::check(MPI_Info_get_nthkey(info, i, key.data()), "MPI_Info_get_nthkey");
        mpi::check(MPI_Info_get(info, key.data(), MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
        if (found != 0) kept.emplace_back(key.data(), value.data());
    }
    mpi::check(MPI_Info_free(&info), "MPI_Info_free");
    return kept;
}

void Window::release() {
    if (attached_) mpi::check(MPI_Win_detach(window_, base_), "MPI_Win_detach");
    mpi::check(MPI_Win_free(&window_), "MPI_Win_free");
}

}  // namespace slowpath::put
