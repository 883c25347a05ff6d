/* SPDX-License-Identifier: Apache-2.0
 * The later part of stub_cuda.c: attributes and names of devices, registered memory, pools, and virtual
 * memory.
 */
enum { GRANULE = 1 << 21 };

typedef struct {
    int type, handle_types, location_type, device;
    void* windows_only;
    unsigned char flags[8];
} Properties;

typedef struct {
    int location_type, device, flags;
} Access;

static size_t created_bytes[REGIONS]; /* by handle; 0: none */

int cuDeviceGetAttribute(int* value, int attribute, int device) {
    FAIL_IF_INJECTED();
    const char* wanted = getenv("SLOWPATH_STUB_CUDA_ATTRIBUTES");
    *value = wanted == NULL ? 1 : atoi(wanted);
    return attribute > 0 && device >= 0 && device < devices() ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetName(char* name, int length, int device) {
    FAIL_IF_INJECTED();
    snprintf(name, (size_t)length, "Stub device %d", device);
    return SUCCESS;
}

int cuDeviceGetPCIBusId(char* bus_id, int length, int device) {
    FAIL_IF_INJECTED();
    snprintf(bus_id, (size_t)length, "0000:%02X:00.0", (unsigned)device);
    return SUCCESS;
}

int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    FAIL_IF_INJECTED();
    *bytes = (size_t)1 << 30;
    return device < devices() ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceCanAccessPeer(int* can, int device, int peer) {
    FAIL_IF_INJECTED();
    *can = device != peer;
    return SUCCESS;
}

int cuMemHostRegister_v2(void* pointer, size_t bytes, unsigned int flags) {
    FAIL_IF_INJECTED();
    if (current_context == NULL) return INVALID_CONTEXT;
    if (pointer == NULL || bytes == 0 || flags != 0) return INVALID_VALUE;
    Region region = {pointer, bytes, 'r', -1};
    return note_region(&region);
}

int cuMemHostUnregister(void* pointer) {
    FAIL_IF_INJECTED();
    return remove_region(pointer, "r");
}

int cuMemAllocAsync(unsigned long long* pointer, size_t bytes, void* stream) {
    FAIL_IF_INJECTED();
    void* base = NULL;
    int code = stream == NULL ? add_region(&base, bytes, 'p') : INVALID_VALUE;
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemFreeAsync(unsigned long long pointer, void* stream) {
    FAIL_IF_INJECTED();
    return stream == NULL ? remove_region((void*)(uintptr_t)pointer, "p") : INVALID_VALUE;
}

int cuStreamSynchronize(void* stream) {
    FAIL_IF_INJECTED();
    return stream == NULL && current_context != NULL ? SUCCESS : INVALID_VALUE;
}

int cuMemGetAllocationGranularity(size_t* bytes, const Properties* properties, int option) {
    FAIL_IF_INJECTED();
    *bytes = GRANULE;
    return properties->type == 1 && option == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemCreate(unsigned long long* handle, size_t bytes, const Properties* properties,
                unsigned long long flags) {
    FAIL_IF_INJECTED();
    if (bytes == 0 || bytes % GRANULE != 0 || properties->location_type != 1 || flags != 0)
        return INVALID_VALUE;
    for (int i = 1; i < REGIONS; ++i) {
        if (created_bytes[i] != 0) continue;
        created_bytes[i] = bytes;
        *handle = (unsigned long long)i;
        return SUCCESS;
    }
    return OUT_OF_MEMORY;
}

int cuMemRelease(unsigned long long handle) {
    FAIL_IF_INJECTED();
    if (handle == 0 || handle >= REGIONS || created_bytes[handle] == 0) return INVALID_VALUE;
    created_bytes[handle] = 0;
    return SUCCESS;
}

int cuMemAddressReserve(unsigned long long* pointer, size_t bytes, size_t alignment,
                        unsigned long long wanted, unsigned long long flags) {
    FAIL_IF_INJECTED();
    void* base = NULL;
    int valid = bytes % GRANULE == 0 && alignment == 0 && wanted == 0 && flags == 0;
    int code = valid ? add_region(&base, bytes, 'v') : INVALID_VALUE;
    *pointer = (uintptr_t)base;
    return code;
}

int cuMemAddressFree(unsigned long long pointer, size_t bytes) {
    FAIL_IF_INJECTED();
    return bytes % GRANULE == 0 ? remove_region((void*)(uintptr_t)pointer, "v") : INVALID_VALUE;
}

int cuMemMap(unsigned long long pointer, size_t bytes, size_t offset, unsigned long long handle,
             unsigned long long flags) {
    FAIL_IF_INJECTED();
    int valid = pointer != 0 && offset == 0 && flags == 0 && handle < REGIONS;
    return valid && created_bytes[handle] == bytes ? SUCCESS : INVALID_VALUE;
}

int cuMemUnmap(unsigned long long pointer, size_t bytes) {
    FAIL_IF_INJECTED();
    return pointer != 0 && bytes % GRANULE == 0 ? SUCCESS : INVALID_VALUE;
}

int cuMemSetAccess(unsigned long long pointer, size_t bytes, const Access* accesses, size_t count) {
    FAIL_IF_INJECTED();
    int valid = pointer != 0 && bytes % GRANULE == 0 && count == 1 && accesses->flags == 3;
    return valid ? SUCCESS : INVALID_VALUE;
}
