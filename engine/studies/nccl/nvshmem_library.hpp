// SPDX-License-Identifier: Apache-2.0
/// NVIDIA's NVSHMEM, loaded at run time: nothing of it is needed to build, and one build runs with and
/// without.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "memory/cuda_driver.hpp"

namespace slowpath::nccl {

// What is needed of the interface of NVSHMEM 3 (API documentation, "Library Setup, Exit, and Query"; layouts
// as of 3.4.5, in their first version): results are ints, teams 32-bit numbers, 0 is the world.  Each
// structure begins with a number that says which one it is and how long; the library refuses one that it does
// not know.
struct ShmemId {
    int version = (1 << 16) + 128;
    std::array<char, 124> bytes{};
};
struct ShmemIdArguments {
    int version = (1 << 16) + 24;
    ShmemId* id = nullptr;
    int rank = -1;
    int ranks = -1;
};
struct ShmemStart {
    int version = (1 << 16) + 144;
    void* mpi_communicator = nullptr;
    struct Arguments {
        int version = (1 << 16) + 128;
        ShmemIdArguments id;
        std::array<char, 96> unused{};
    } arguments;
};
static_assert(sizeof(ShmemId) == 128 && sizeof(ShmemIdArguments) == 24 && sizeof(ShmemStart) == 144);
inline constexpr unsigned int start_with_id = 8;
inline constexpr int all_ranks = 0;

using ShmemCollective = int (*)(int team, float* to, const float* from, std::size_t count,
                                memory::CudaStream);

/// By the names that libnvshmem_host exports.
struct ShmemFunctions {
    void (*nvshmemx_vendor_get_version_info)(int* major, int* minor, int* patch);
    int (*nvshmemx_get_uniqueid)(ShmemId* id);
    int (*nvshmemx_set_attr_uniqueid_args)(int rank, int ranks, const ShmemId* id, ShmemStart* start);
    int (*nvshmemx_hostlib_init_attr)(unsigned int flags, ShmemStart* start);
    void (*nvshmemx_hostlib_finalize)();
    void* (*nvshmem_malloc)(std::size_t bytes);
    void (*nvshmem_free)(void* data);
    void (*nvshmemx_putmem_on_stream)(void* to, const void* from, std::size_t bytes, int rank,
                                      memory::CudaStream);
    void (*nvshmemx_barrier_all_on_stream)(memory::CudaStream);
    ShmemCollective nvshmemx_float_sum_reduce_on_stream;
    ShmemCollective nvshmemx_float_sum_reducescatter_on_stream;
    ShmemCollective nvshmemx_float_fcollect_on_stream;
    ShmemCollective nvshmemx_float_alltoall_on_stream;
    int (*nvshmemx_float_broadcast_on_stream)(int team, float* to, const float* from, std::size_t count,
                                              int root, memory::CudaStream);
};

class ShmemLibrary {
  public:
    /// Whether load() has been called in this process, so that it costs nothing more.
    static bool is_loaded();

    /// The one NVSHMEM of this process, opened at the first call: the file that SLOWPATH_NVSHMEM names, else
    /// libnvshmem_host.so.3 where the dynamic loader looks, else that of the Python package nvidia-nvshmem.
    /// What the user has not set is set before that: NVSHMEM_DISABLE_NVLS=1 and NCCL_NVLS_ENABLE=0, since
    /// NVLink multicast can put a host's GPUs out of service, and NVSHMEM_DISABLE_NCCL=1, so that collectives
    /// are its own.
    /// @throws EnvironmentFailure: there is none, it is not version 3, or it lacks a function.
    static ShmemLibrary& load();

    const ShmemFunctions& call() const { return functions_; }
    /// "NVSHMEM 3.4.5"
    std::string name() const;
    const std::string& file() const { return file_; }

  private:
    ShmemLibrary();
    ShmemFunctions functions_{};
    std::string file_;
    std::array<int, 3> version_{};
};

}  // namespace slowpath::nccl
