// SPDX-License-Identifier: Apache-2.0
#include "cannon/gpu/cublas.hpp"

#include <dlfcn.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "core/error.hpp"

namespace slowpath::cannon::gpu {
namespace {

// Values of cublas_api.h and library_types.h; the same in CUDA 12 and 13.
constexpr int not_transposed = 0;      // CUBLAS_OP_N
constexpr int real_float = 0;          // CUDA_R_32F
constexpr int real_bfloat16 = 14;      // CUDA_R_16BF
constexpr int compute_float = 68;      // CUBLAS_COMPUTE_32F
constexpr int default_algorithm = -1;  // CUBLAS_GEMM_DEFAULT
constexpr std::array versions{"13", "12"};

std::string from_environment(const char* name) {
    const char* const value = std::getenv(name);
    return value == nullptr ? "" : value;
}

/// Folders to look in, the dynamic loader's own ("") first.
std::vector<std::string> folders() {
    std::vector<std::string> all{""};
    for (const char* const name : {"CUDA_HOME", "CUDA_PATH"})
        if (const std::string root = from_environment(name); !root.empty()) all.push_back(root + "/lib64/");
    for (const char* const root : {"/usr/local/cuda/", "/usr/local/cuda-13/", "/usr/local/cuda-12/"}) {
        all.push_back(std::string(root) + "lib64/");
        all.push_back(std::string(root) + "targets/x86_64-linux/lib/");
    }
    return all;
}

/// cuBLAS needs cublasLt, by its bare name; next to it, it is found only where a search path says so, or
/// where it is in the process already.
void* open_with_lt(const std::string& folder, const std::string& file) {
    const std::size_t at = file.find("libcublas.");
    if (at != std::string::npos) {
        std::string lt = file;
        lt.replace(at, 10, "libcublasLt.");
        dlopen((folder + lt).c_str(), RTLD_NOW | RTLD_GLOBAL);
    }
    return dlopen((folder + file).c_str(), RTLD_NOW | RTLD_LOCAL);
}

void* open_library() {
    if (const std::string named = from_environment("SLOWPATH_CUBLAS"); !named.empty()) {
        if (void* const library = open_with_lt("", named)) return library;
        const char* const why = dlerror();
        throw EnvironmentFailure("SLOWPATH_CUBLAS: " + std::string(why != nullptr ? why : named));
    }
    for (const char* const version : versions)
        for (const std::string& folder : folders())
            if (void* const library = open_with_lt(folder, std::string("libcublas.so.") + version))
                return library;
    throw EnvironmentFailure(
        "no cuBLAS: neither libcublas.so.13 nor .12 is where the dynamic loader looks, in CUDA_HOME, "
        "CUDA_PATH or /usr/local/cuda; install the CUDA toolkit, or name the file by SLOWPATH_CUBLAS");
}

std::string file_of(const void* symbol) {
    Dl_info info{};
    return dladdr(symbol, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("cuBLAS lacks ") + name + "; take that of CUDA 12 or 13");
}

void check(int code, const char* call) {
    if (code != 0)
        throw EnvironmentFailure(std::string(call) + " failed with cublasStatus_t " + std::to_string(code));
}

template <class To>
To* at(CudaDevicePointer pointer) {
    return reinterpret_cast<To*>(static_cast<std::uintptr_t>(pointer));
}

}  // namespace

Cublas::Cublas(void* library) {
    find(library, "cublasCreate_v2", create_);
    find(library, "cublasDestroy_v2", destroy_);
    find(library, "cublasSetStream_v2", set_stream_);
    find(library, "cublasGetVersion_v2", version_);
    find(library, "cublasDgemm_v2", dgemm_);
    find(library, "cublasGemmEx", gemm_ex_);
    file_ = file_of(reinterpret_cast<const void*>(create_));
}

const Cublas& Cublas::loaded() {
    // Never unloaded: it keeps exit handlers of its own.
    static const Cublas* const library = new Cublas(open_library());
    return *library;
}

CublasHandle::CublasHandle(const Cublas& library, const Stream& stream) : library_(library) {
    check(library_.create_(&handle_), "cublasCreate");
    check(library_.set_stream_(handle_, stream.get()), "cublasSetStream");
}

CublasHandle::~CublasHandle() {
    library_.destroy_(handle_);
}

void CublasHandle::multiply(Element element, const Product& p) const {
    if (element == Element::float64) {
        const double alpha = 1, beta = p.add ? 1 : 0;
        check(library_.dgemm_(handle_, not_transposed, not_transposed, p.m, p.n, p.k, &alpha,
                              at<const void>(p.a), p.m, at<const void>(p.b), p.k, &beta, at<void>(p.c), p.m),
              "cublasDgemm");
        return;
    }
    const float alpha = 1, beta = p.add ? 1 : 0;
    check(library_.gemm_ex_(handle_, not_transposed, not_transposed, p.m, p.n, p.k, &alpha,
                            at<const void>(p.a), real_bfloat16, p.m, at<const void>(p.b), real_bfloat16, p.k,
                            &beta, at<void>(p.c), real_float, p.m, compute_float, default_algorithm),
          "cublasGemmEx");
}

std::string CublasHandle::name() const {
    int version = 0;  // major * 10000 + minor * 100 + patch
    check(library_.version_(handle_, &version), "cublasGetVersion");
    return "cuBLAS " + std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

}  // namespace slowpath::cannon::gpu
