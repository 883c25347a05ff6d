// SPDX-License-Identifier: Apache-2.0
#include "cannon/variants/exposed.hpp"

namespace slowpath::cannon {

Exposed::Exposed(const Stage& stage, std::int64_t elements) {
    const auto bytes = static_cast<MPI_Aint>(elements * static_cast<std::int64_t>(sizeof(double)));
    if (stage.window == WindowMemory::create) {
        own_.emplace(elements);
        data_ = own_->data();
        mpi::check(MPI_Win_create(data_, bytes, sizeof(double), MPI_INFO_NULL, stage.communicator, &window_),
                   "MPI_Win_create");
    } else {
        mpi::check(MPI_Win_allocate(bytes, sizeof(double), MPI_INFO_NULL, stage.communicator,
                                    static_cast<void*>(&data_), &window_),
                   "MPI_Win_allocate");
        std::fill_n(data_, elements, 0.0);
    }
    mpi::check(MPI_Win_set_errhandler(window_, MPI_ERRORS_RETURN), "MPI_Win_set_errhandler");
}

Exposed::~Exposed() {
    if (window_ != MPI_WIN_NULL) MPI_Win_free(&window_);
}

PutStrips::PutStrips(Stage& stage)
    : stage_(stage),
      exposed_(stage, 2 * (stage.layout.a_elements() + stage.layout.b_elements())),
      a_type_(stage.layout.a_elements()),
      b_type_(stage.layout.b_elements()) {
    double* const base = exposed_.data();
    strips_ = {{base + place_of_a(0), base + place_of_a(1)},
               {base + place_of_b(0), base + place_of_b(1)},
               stage.layout.b_moves()};
}

void PutStrips::poison() {
    fill_with_nan(strips_.a_places[1], stage_.layout.a_elements());
    if (strips_.b_moves) fill_with_nan(strips_.b_places[1], stage_.layout.b_elements());
}

void PutStrips::put_both() {
    const Layout& layout = stage_.layout;
    if (layout.a_moves())
        mpi::check(MPI_Put(strips_.a(), 1, a_type_.get(), layout.left(), place_of_a(strips_.next()), 1,
                           a_type_.get(), window()),
                   "MPI_Put");
    if (layout.b_moves())
        mpi::check(MPI_Put(strips_.b(), 1, b_type_.get(), layout.up(), place_of_b(strips_.next()), 1,
                           b_type_.get(), window()),
                   "MPI_Put");
}

}  // namespace slowpath::cannon
