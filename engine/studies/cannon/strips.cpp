// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <climits>
#include <cstdlib>
#include <limits>
#include <new>
#include <stdexcept>

#include "cannon/variant.hpp"
#include "mpi/session.hpp"

namespace slowpath::cannon {

namespace {

constexpr std::size_t page_bytes = 4096;

/// A length that an int holds and that divides `elements`, as long as can be found quickly.
std::int64_t int_divisor(std::int64_t elements) {
    std::int64_t parts = elements / INT_MAX + 1;
    while (elements % parts != 0) ++parts;
    return elements / parts;
}

}  // namespace

void Memory::Free::operator()(double* memory) const {
    std::free(memory);
}

Memory::Memory(std::int64_t elements) : elements_(elements) {
    const std::size_t bytes = static_cast<std::size_t>(elements) * sizeof(double);
    const std::size_t whole_pages =
        std::max<std::size_t>(1, (bytes + page_bytes - 1) / page_bytes) * page_bytes;
    data_.reset(static_cast<double*>(std::aligned_alloc(page_bytes, whole_pages)));
    if (!data_) throw std::bad_alloc();
    std::fill_n(data_.get(), elements, 0.0);
}

void fill_with_nan(double* to, std::int64_t elements) {
    std::fill_n(to, elements, std::numeric_limits<double>::quiet_NaN());
}

StripType::StripType(std::int64_t elements) {
    const std::int64_t inner =
        elements <= INT_MAX ? std::max<std::int64_t>(elements, 1) : int_divisor(elements);
    MPI_Datatype part = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_contiguous(static_cast<int>(inner), MPI_DOUBLE, &part), "MPI_Type_contiguous");
    mpi::check(MPI_Type_contiguous(static_cast<int>(elements / inner), part, &type_), "MPI_Type_contiguous");
    mpi::check(MPI_Type_free(&part), "MPI_Type_free");
    mpi::check(MPI_Type_commit(&type_), "MPI_Type_commit");
}

StripType::~StripType() {
    MPI_Type_free(&type_);
}

OwnStrips::OwnStrips(const Layout& layout)
    : a_{Memory(layout.a_elements()), Memory(layout.a_elements())},
      b_{Memory(layout.b_elements()), Memory(layout.b_moves() ? layout.b_elements() : 0)} {
    strips = {{a_[0].data(), a_[1].data()}, {b_[0].data(), b_[1].data()}, layout.b_moves()};
}

void OwnStrips::poison(const Layout& layout) const {
    fill_with_nan(strips.a_places[1], layout.a_elements());
    if (layout.b_moves()) fill_with_nan(strips.b_places[1], layout.b_elements());
}

std::span<const VariantKind> variants() {
    static const std::array all{compute_only,  sendrecv_replace, sendrecv,      isend_wait,
                                isend_test,    isend_test_apart, put_fence,     put_fence_two_windows,
                                pscw,          put_flag,         get_from_home, shared_copy,
                                shared_direct, dgemm_alone};
    return all;
}

}  // namespace slowpath::cannon
