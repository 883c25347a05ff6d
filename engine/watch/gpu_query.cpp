// SPDX-License-Identifier: Apache-2.0
#include "watch/gpu_query.hpp"

#include <dlfcn.h>

#include <atomic>

#include "watch/allocations.hpp"
#include "watch/loader.hpp"

namespace slowpath::watch {
namespace {

using GetAttribute = int(void* value, int attribute, Address pointer);
constinit std::atomic<GetAttribute*> get_attribute{nullptr};

// CUpointer_attribute and CUmemorytype, CUDA Driver API, unified addressing.
constexpr int memory_type = 2, buffer_id = 7, is_managed = 8, device_ordinal = 9, range_start = 11,
              range_size = 12;
constexpr unsigned type_host = 1, type_device = 2;

template <class Value>
bool ask(int attribute, Address address, Value& value) {
    return get_attribute.load(std::memory_order_relaxed)(&value, attribute, address) == 0;
}

}  // namespace

bool find_driver() {
    if (get_attribute.load(std::memory_order_relaxed) != nullptr) return true;
    void* const driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (driver == nullptr) return false;
    void* const found = real_dlsym()(driver, "cuPointerGetAttribute");
    dlclose(driver);
    get_attribute.store(reinterpret_cast<GetAttribute*>(found), std::memory_order_relaxed);
    return found != nullptr;
}

GpuMemory ask_driver(Address address) {
    GpuMemory memory;
    unsigned type = 0, managed = 0;
    if (!ask(memory_type, address, type) || (type != type_host && type != type_device)) return memory;
    memory.kind = type == type_device ? kind::device : kind::pinned;
    if (ask(is_managed, address, managed) && managed != 0) memory.kind = kind::managed;
    if (!ask(device_ordinal, address, memory.device) || memory.kind == kind::pinned) memory.device = -1;
    if (!ask(range_start, address, memory.begin) || !ask(range_size, address, memory.bytes))
        memory.begin = memory.bytes = 0;
    if (!ask(buffer_id, address, memory.identity)) memory.identity = 0;
    return memory;
}

}  // namespace slowpath::watch
