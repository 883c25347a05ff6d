// SPDX-License-Identifier: Apache-2.0
/// ScaLAPACK, the yardstick, loaded at run time and never linked: an engine runs with it and without it.
#pragma once

#include <mpi.h>

#include <array>
#include <optional>
#include <string>

namespace slowpath::cannon {

/// As descinit_ makes it: how a matrix is dealt out over a grid, in blocks (ScaLAPACK Users' Guide,
/// section 4.3.3).
using Descriptor = std::array<int, 9>;

class Scalapack {
  public:
    /// The first that is there, belongs to the MPI in use and multiplies with the BLAS of the engine.
    /// @throws EnvironmentFailure saying why there is none.  Local.
    static const Scalapack& loaded();

    const std::string& file() const { return file_; }

    /// Elements of n, in blocks, that process `at` of `of` holds.
    int held(int n, int block, int at, int of) const;
    /// n x n in blocks of block_rows x block_columns, the first one on process (0, 0).
    Descriptor describe(int n, int block_rows, int block_columns, int context, int local_rows) const;
    /// c = a b.  Collective over the grid of the descriptors.
    void multiply(int n, const double* a, const Descriptor& of_a, const double* b, const Descriptor& of_b,
                  double* c, const Descriptor& of_c) const;
    /// The same n x n matrix, dealt out otherwise.  Collective over the grid of `context`.
    void deal_out(int n, const double* from, const Descriptor& of_from, double* to, const Descriptor& of_to,
                  int context) const;

  private:
    friend class ProcessGrid;
    Scalapack() = default;
    static Scalapack found();
    static void* opened(std::string& why_not);
    void bind(void* library);

    std::string file_;
    int (*numroc_)(const int*, const int*, const int*, const int*, const int*) = nullptr;
    void (*descinit_)(int*, const int*, const int*, const int*, const int*, const int*, const int*,
                      const int*, const int*, int*) = nullptr;
    void (*pdgemm_)(const char*, const char*, const int*, const int*, const int*, const double*,
                    const double*, const int*, const int*, const int*, const double*, const int*, const int*,
                    const int*, const double*, double*, const int*, const int*, const int*) = nullptr;
    void (*redistribute_)(int, int, const double*, int, int, const int*, double*, int, int, const int*,
                          int) = nullptr;
    int (*handle_of_)(MPI_Comm) = nullptr;
    void (*free_handle_)(int) = nullptr;
    void (*make_grid_)(int*, const char*, int, int) = nullptr;
    void (*free_grid_)(int) = nullptr;
};

/// A grid of the BLACS, in row-major order as Layout has it.  Collective to make and to destroy.
class ProcessGrid {
  public:
    ProcessGrid(const Scalapack& library, MPI_Comm communicator, int rows, int columns);
    ~ProcessGrid();
    ProcessGrid(const ProcessGrid&) = delete;
    ProcessGrid& operator=(const ProcessGrid&) = delete;
    int context() const { return context_; }

  private:
    const Scalapack& library_;
    int handle_;
    int context_;
};

}  // namespace slowpath::cannon
