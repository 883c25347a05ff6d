// SPDX-License-Identifier: Apache-2.0
#include "cannon/multiply.hpp"

#include <algorithm>

#include "cannon/blas.hpp"

namespace slowpath::cannon {

Multiply::Multiply(const Layout& layout, const Blas& blas, Timeline& timeline, std::int64_t panel_columns)
    : layout_(layout), blas_(blas), timeline_(timeline), panel_columns_(panel_columns) {}

void Multiply::whole(int step, const double* a, const double* b, double* c) {
    piece(step, a, b, layout_.panel(), c);
}

void Multiply::in_pieces(int step, const double* a, const double* b, double* c,
                         const std::function<void()>& poke) {
    for (std::int64_t k = 0; k < layout_.panel(); k += panel_columns_) {
        piece(step, a + k * layout_.c_rows(), b + k, std::min(panel_columns_, layout_.panel() - k), c);
        if (k + panel_columns_ < layout_.panel()) timeline_.timed(Part::test, step, poke);
    }
}

void Multiply::piece(int step, const double* a, const double* b, std::int64_t k, double* c) {
    const auto m = static_cast<int>(layout_.c_rows()), n = static_cast<int>(layout_.c_columns());
    timeline_.timed(Part::dgemm, step, [&] {
        blas_.multiply(m, n, static_cast<int>(k), a, b, static_cast<int>(layout_.panel()), c);
    });
}

}  // namespace slowpath::cannon
