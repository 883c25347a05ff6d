// SPDX-License-Identifier: Apache-2.0
#include "nccl/nvshmem_library.hpp"

#include <dlfcn.h>

#include <cstdlib>

#include "core/error.hpp"
#include "nccl/open_library.hpp"

namespace slowpath::nccl {
namespace {

bool loaded = false;

template <class Function>
void find(void* library, const char* name, Function*& function) {
    function = reinterpret_cast<Function*>(dlsym(library, name));
    if (function == nullptr)
        throw EnvironmentFailure(std::string("NVSHMEM lacks ") + name + "; take 3.4.5 or later");
}

}  // namespace

bool ShmemLibrary::is_loaded() {
    return loaded;
}

ShmemLibrary& ShmemLibrary::load() {
    // Never unloaded: it keeps threads and exit handlers of its own.
    static ShmemLibrary* const library = new ShmemLibrary;
    return *library;
}

ShmemLibrary::ShmemLibrary() {
    loaded = true;
    setenv("NVSHMEM_DISABLE_NVLS", "1", 0);
    setenv("NVSHMEM_DISABLE_NCCL", "1", 0);
    setenv("NCCL_NVLS_ENABLE", "0", 0);
    void* const library = open_library({.what = "NVSHMEM",
                                        .file = "libnvshmem_host.so.3",
                                        .in_package = "nvidia/nvshmem/lib/libnvshmem_host.so.3",
                                        .package = "nvidia-nvshmem-cu13",
                                        .variable = "SLOWPATH_NVSHMEM"});
    ShmemFunctions& f = functions_;
    find(library, "nvshmemx_vendor_get_version_info", f.nvshmemx_vendor_get_version_info);
    f.nvshmemx_vendor_get_version_info(&version_[0], &version_[1], &version_[2]);
    if (version_[0] != 3)
        throw EnvironmentFailure(name() + " is not one whose interface is known; take NVSHMEM 3");
    find(library, "nvshmemx_get_uniqueid", f.nvshmemx_get_uniqueid);
    find(library, "nvshmemx_set_attr_uniqueid_args", f.nvshmemx_set_attr_uniqueid_args);
    find(library, "nvshmemx_hostlib_init_attr", f.nvshmemx_hostlib_init_attr);
    find(library, "nvshmemx_hostlib_finalize", f.nvshmemx_hostlib_finalize);
    find(library, "nvshmem_malloc", f.nvshmem_malloc);
    find(library, "nvshmem_free", f.nvshmem_free);
    find(library, "nvshmemx_putmem_on_stream", f.nvshmemx_putmem_on_stream);
    find(library, "nvshmemx_barrier_all_on_stream", f.nvshmemx_barrier_all_on_stream);
    find(library, "nvshmemx_float_sum_reduce_on_stream", f.nvshmemx_float_sum_reduce_on_stream);
    find(library, "nvshmemx_float_sum_reducescatter_on_stream", f.nvshmemx_float_sum_reducescatter_on_stream);
    find(library, "nvshmemx_float_fcollect_on_stream", f.nvshmemx_float_fcollect_on_stream);
    find(library, "nvshmemx_float_alltoall_on_stream", f.nvshmemx_float_alltoall_on_stream);
    find(library, "nvshmemx_float_broadcast_on_stream", f.nvshmemx_float_broadcast_on_stream);
    file_ = file_of(reinterpret_cast<const void*>(f.nvshmem_malloc));
}

std::string ShmemLibrary::name() const {
    return "NVSHMEM " + std::to_string(version_[0]) + "." + std::to_string(version_[1]) + "." +
           std::to_string(version_[2]);
}

}  // namespace slowpath::nccl
