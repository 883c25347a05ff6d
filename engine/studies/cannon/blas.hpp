// SPDX-License-Identifier: Apache-2.0
/// The BLAS, loaded when a cell needs it and not before: its threads and memory must not disturb other
/// experiments.
#pragma once

#include <memory>
#include <string>

namespace slowpath::cannon {

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

}  // namespace slowpath::cannon
