// SPDX-License-Identifier: Apache-2.0
/// The local multiplication of a step, by the BLAS in use, with one thread, or by a plain loop.
#pragma once

#include <cstdint>
#include <functional>

#include "cannon/kernels/loop.hpp"
#include "cannon/layout.hpp"
#include "cannon/timeline.hpp"

namespace slowpath::cannon {

class Blas;  // blas.hpp: libslowpath-blas.so, loaded at run time

class Multiply {
  public:
    /// @param panel_columns Length of a piece of k between two pokes; a multiple of the BLAS's own K block
    /// (OpenBLAS's GEMM_Q, 384), since shorter pieces pack A again and cost 3 to 7 %
    /// (docs/results/cannon.md).  A panel that is no longer is cut in two.
    /// @param loop Multiplies; null: the BLAS does.
    Multiply(const Layout& layout, const Blas* blas, Loop* loop, Timeline& timeline,
             std::int64_t panel_columns);

    /// c += a b for one panel of k, as one dgemm, recorded as Part::dgemm of `step`.
    /// @param a c_rows x panel, column-major.  @param b panel x c_columns, column-major.
    void whole(int step, const double* a, const double* b, double* c);

    /// The same in pieces of k; `poke` runs between them, recorded by itself as Part::test.
    /// A panel of one column has no pieces: nothing is poked.
    void in_pieces(int step, const double* a, const double* b, double* c, const std::function<void()>& poke);

    /// By the BLAS, not by a loop.
    bool by_blas() const { return loop_ == nullptr; }
    /// Columns of k of a piece.
    std::int64_t piece_columns() const { return piece_columns_; }
    std::int64_t pieces() const { return (layout_.panel() + piece_columns_ - 1) / piece_columns_; }

  private:
    void piece(int step, const double* a, const double* b, std::int64_t k, double* c);

    Layout layout_;
    const Blas* blas_;
    Loop* loop_;
    Timeline& timeline_;
    std::int64_t piece_columns_;
};

/// Columns of k of a piece: those asked for, or half a panel that is no longer than that, so that a style
/// that cuts always cuts.
std::int64_t columns_of_piece(std::int64_t panel, std::int64_t asked);

}  // namespace slowpath::cannon
