// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's NCCL, loaded at run time: nothing of it is needed to build, and one build runs with and without.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "memory/cuda_driver.hpp"
#include "nccl/part.hpp"

namespace slowpath::nccl {

// The few types of nccl.h that are needed (NCCL's user guide, "NCCL API"): results and enums are ints,
// communicators opaque pointers, ids 128 opaque bytes that are passed by value.
using Result = int;
using Communicator = void*;
using CudaStream = memory::CudaStream;
struct UniqueId {
    std::array<char, 128> bytes{};
};
inline constexpr int type_float = 7;  // ncclFloat32
inline constexpr int sum = 0;         // ncclSum

/// By the names that libnccl exports; the same since NCCL 2.7.
struct Functions {
    Result (*ncclGetVersion)(int* version);
    const char* (*ncclGetErrorString)(Result result);
    Result (*ncclGetUniqueId)(UniqueId* id);
    Result (*ncclCommInitRank)(Communicator* made, int ranks, UniqueId id, int rank);
    Result (*ncclCommDestroy)(Communicator communicator);
    Result (*ncclGroupStart)();
    Result (*ncclGroupEnd)();
    Result (*ncclSend)(const void* from, std::size_t count, int type, int peer, Communicator, CudaStream);
    Result (*ncclRecv)(void* to, std::size_t count, int type, int peer, Communicator, CudaStream);
    Result (*ncclAllReduce)(const void* from, void* to, std::size_t count, int type, int op, Communicator,
                            CudaStream);
    Result (*ncclBroadcast)(const void* from, void* to, std::size_t count, int type, int root, Communicator,
                            CudaStream);
    Result (*ncclReduceScatter)(const void* from, void* to, std::size_t received, int type, int op,
                                Communicator, CudaStream);
    Result (*ncclAllGather)(const void* from, void* to, std::size_t sent, int type, Communicator, CudaStream);
    const char* (*ncclGetLastError)(Communicator communicator);  ///< nullptr before NCCL 2.13
    Result (*ncclMemFree)(void* data);                           ///< nullptr before NCCL 2.19
};

class Library {
  public:
    /// Whether load() has been called in this process, so that it costs nothing more.
    static bool is_loaded();

    /// The one NCCL of this process, opened at the first call: the file that SLOWPATH_NCCL names, else
    /// libnccl.so.2 where the dynamic loader looks, else that of the Python package nvidia-nccl in PYTHONPATH
    /// or next to an interpreter of PATH.  What the user has not set is set before it is opened:
    /// NCCL_NVLS_ENABLE=0, since NVLink multicast can put a host's GPUs out of service, and NCCL's own report
    /// of its initialisation.
    /// @throws EnvironmentFailure: there is none, or it lacks a function.
    static Library& load();

    const Functions& call() const { return functions_; }
    /// "NCCL 2.32.3"
    std::string name() const;
    const std::string& file() const { return file_; }
    /// @throws EnvironmentFailure with NCCL's own words unless `result` is ncclSuccess.
    void check(Result result, const char* call, Communicator communicator = nullptr) const;

    /// Right before an initialisation, so that an earlier one's report can't pass for its own.
    void forget_report() const;
    /// What NCCL wrote about its last initialisation, in seconds; empty where it wrote nothing, or where the
    /// user has NCCL_DEBUG or NCCL_DEBUG_FILE set.
    std::map<Part, double> init_timings() const;

  private:
    Library();
    Functions functions_{};
    std::string file_;
    int report_ = -1;  ///< descriptor of the file in memory that NCCL writes its report to
};

/// The last line "Init timings - ...: rank 0 nranks 2 total 1.16 (kernels 0.20, alloc 0.67, ...)" of a
/// report, in seconds; empty where there is none.  Words that are not known are left out.
std::map<Part, double> read_init_timings(std::string_view report);

}  // namespace slowpath::nccl
