// SPDX-License-Identifier: Apache-2.0
/// The local multiplication of a step, by the BLAS in use, with one thread.
#pragma once

#include <cstdint>
#include <functional>

#include "cannon/layout.hpp"
#include "cannon/timeline.hpp"

namespace slowpath::cannon {

class Blas;  // blas.hpp: libslowpath-blas.so, loaded at run time

class Multiply {
  public:
    /// @param panel_columns Length of a piece of k between two pokes; a multiple of the BLAS's own K block
    /// (OpenBLAS's GEMM_Q, 384), since shorter pieces pack A again and cost 3 to 7 %
    /// (docs/studies/cannon.md).
    Multiply(const Layout& layout, const Blas& blas, Timeline& timeline, std::int64_t panel_columns);

    /// c += a b for one panel of k, as one dgemm, recorded as Part::dgemm of `step`.
    /// @param a c_rows x panel, column-major.  @param b panel x c_columns, column-major.
    void whole(int step, const double* a, const double* b, double* c);

    /// The same in pieces of k; `poke` runs between them, recorded by itself as Part::test.
    void in_pieces(int step, const double* a, const double* b, double* c, const std::function<void()>& poke);

  private:
    void piece(int step, const double* a, const double* b, std::int64_t k, double* c);

    Layout layout_;
    const Blas& blas_;
    Timeline& timeline_;
    std::int64_t panel_columns_;
};

}  // namespace slowpath::cannon
