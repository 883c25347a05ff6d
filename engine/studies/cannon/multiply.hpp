// SPDX-License-Identifier: Apache-2.0
/// The local multiplication: by the BLAS or a plain loop, whole or in pieces.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "cannon/matrices.hpp"
#include "cannon/recorder.hpp"

namespace slowpath::cannon {

// c += a b as a plain loop, under several sets of compiler options; column-major, leading dimensions m, ldb,
// m.

using Loop = void(int m, int n, int k, const double* a, const double* b, int ldb, double* c);

Loop loop_O0, loop_O2, loop_O3, loop_native;

// What multiplies a rank's blocks: the BLAS, or a plain loop under one set of compiler options.

struct Kernel {
    std::string_view name;     ///< as the parameter `kernel` has it
    Loop* loop;                ///< null: the BLAS
    std::string_view options;  ///< of the compiler, for the loop; empty: the BLAS
};

/// The first one is the BLAS.
std::span<const Kernel> kernels();

/// What compiled the loops, as it names itself.
std::string_view compiler();

// The BLAS, loaded when a cell needs it and not before: its threads and memory must not disturb other
// experiments.

class Blas {
  public:
    /// Loads libslowpath-blas.so, which stands next to the program and is linked with the BLAS that CMake
    /// found. Sets one thread before the BLAS starts any.
    /// @throws EnvironmentFailure saying why there is none.
    static const Blas& loaded();

    /// c += a b, column-major, leading dimensions m, ldb, m.
    void multiply(int m, int n, int k, const double* a, const double* b, int ldb, double* c) const;

    const std::string& name() const { return name_; }  ///< "OpenBLAS 0.3.21", as the library says
    const std::string& core() const {
        return core_;
    }  ///< kernel's processor type, "SkylakeX"; empty: unknown
    int threads() const { return threads_; }
    const std::string& file() const { return file_; }  ///< of the BLAS itself, as loaded

  private:
    Blas() = default;
    std::string name_, core_, file_;
    int threads_ = 1;
    void (*dgemm_)(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*) = nullptr;
};

// The local multiplication of a step, by the BLAS in use, with one thread, or by a plain loop.

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
