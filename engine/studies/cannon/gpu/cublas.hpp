// SPDX-License-Identifier: Apache-2.0
/// cuBLAS, loaded when a cell needs it: nothing is linked against CUDA, so that one engine runs with and
/// without a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "cannon/gpu/cuda.hpp"

namespace slowpath::cannon::gpu {

/// What the matrices consist of.  C has doubles for doubles, and floats for bfloat16.
enum class Element { float64, bfloat16 };

inline std::int64_t input_bytes(Element element) {
    return element == Element::float64 ? 8 : 2;
}
inline std::int64_t output_bytes(Element element) {
    return element == Element::float64 ? 8 : 4;
}

/// c = a b, or c += a b: column-major, a m x k, b k x n, no gaps between columns.
struct Product {
    int m, n, k;
    CudaDevicePointer a, b, c;
    bool add;
};

/// The library and its entry points, by the names that it exports.
class Cublas {
  public:
    /// Loads it at the first call: SLOWPATH_CUBLAS names the file; else libcublas.so.13 or .12 where the
    /// dynamic loader, CUDA_HOME, CUDA_PATH or /usr/local/cuda has it.
    /// @throws EnvironmentFailure saying where it was looked for.
    static const Cublas& loaded();

    const std::string& file() const { return file_; }  ///< as it was loaded

  private:
    friend class CublasHandle;
    explicit Cublas(void* library);
    std::string file_;
    int (*create_)(void** handle) = nullptr;
    int (*destroy_)(void* handle) = nullptr;
    int (*set_stream_)(void* handle, CudaStream stream) = nullptr;
    int (*version_)(void* handle, int* version) = nullptr;
    int (*dgemm_)(void* handle, int, int, int m, int n, int k, const double* alpha, const void* a, int lda,
                  const void* b, int ldb, const double* beta, void* c, int ldc) = nullptr;
    int (*gemm_ex_)(void* handle, int, int, int m, int n, int k, const void* alpha, const void* a, int a_type,
                    int lda, const void* b, int b_type, int ldb, const void* beta, void* c, int c_type,
                    int ldc, int compute_type, int algorithm) = nullptr;
};

/// cuBLAS on the device in use, on one stream.
class CublasHandle {
  public:
    /// @throws EnvironmentFailure naming the call and its code.
    CublasHandle(const Cublas& library, const Stream& stream);
    ~CublasHandle();
    CublasHandle(const CublasHandle&) = delete;
    CublasHandle& operator=(const CublasHandle&) = delete;

    /// Starts a multiplication and returns.  @throws EnvironmentFailure naming the call and its code.
    void multiply(Element element, const Product& product) const;

    std::string name() const;  ///< "cuBLAS 13.1.0"

  private:
    const Cublas& library_;
    void* handle_ = nullptr;
};

}  // namespace slowpath::cannon::gpu
