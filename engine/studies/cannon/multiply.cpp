// SPDX-License-Identifier: Apache-2.0
#include "cannon/multiply.hpp"

#include <algorithm>

#include "cannon/blas.hpp"

namespace slowpath::cannon {

std::int64_t columns_of_piece(std::int64_t panel, std::int64_t asked) {
    return std::max<std::int64_t>(1, asked < panel ? asked : (panel + 1) / 2);
}

Multiply::Multiply(const Layout& layout, const Blas* blas, Loop* loop, Timeline& timeline,
                   std::int64_t panel_columns)
    : layout_(layout),
      blas_(blas),
      loop_(loop),
      timeline_(timeline),
      piece_columns_(columns_of_piece(layout.panel(), panel_columns)) {}

void Multiply::whole(int step, const double* a, const double* b, double* c) {
    piece(step, a, b, layout_.panel(), c);
}

void Multiply::in_pieces(int step, const double* a, const double* b, double* c,
                         const std::function<void()>& poke) {
    for (std::int64_t k = 0; k < layout_.panel(); k += piece_columns_) {
        piece(step, a + k * layout_.c_rows(), b + k, std::min(piece_columns_, layout_.panel() - k), c);
        if (k + piece_columns_ < layout_.panel()) timeline_.timed(Part::test, step, poke);
    }
}

void Multiply::piece(int step, const double* a, const double* b, std::int64_t k, double* c) {
    const auto m = static_cast<int>(layout_.c_rows()), n = static_cast<int>(layout_.c_columns());
    const auto columns = static_cast<int>(k), ldb = static_cast<int>(layout_.panel());
    if (loop_ != nullptr)
        timeline_.timed(Part::dgemm, step, [&] { loop_(m, n, columns, a, b, ldb, c); });
    else
        timeline_.timed(Part::dgemm, step, [&] { blas_->multiply(m, n, columns, a, b, ldb, c); });
}

}  // namespace slowpath::cannon
