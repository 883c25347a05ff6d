/* SPDX-License-Identifier: Apache-2.0
 * Device allocations under the preloaded library; the scenario is the first argument. Not linked with a
 * driver: LINKED makes the program that is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../slowpath_pad.h"
#include "expect.h"

enum { MIB = 1 << 20 };
enum { THREADS = 8, ALLOCATIONS_EACH = 300 };

typedef unsigned long long Pointer;
typedef int (*Allocate)(Pointer*, size_t);
typedef int (*Free)(Pointer);

static int (*address_range)(Pointer*, size_t*, Pointer);
static void* driver;

static struct slowpath_pad_numbers numbers(void) {
    struct slowpath_pad_numbers all = {0};
    void (*get)(struct slowpath_pad_numbers*) =
        (void (*)(struct slowpath_pad_numbers*))dlsym(RTLD_DEFAULT, "slowpath_pad_statistics");
    if (get != NULL) get(&all);
    EXPECT(get != NULL);
    return all;
}

static void set_context(void) {
    static int any;
    ((int (*)(void*))dlsym(driver, "cuCtxSetCurrent"))(&any);
}

static void open_driver(void) {
    driver = dlopen(getenv("SLOWPATH_CUDA_DRIVER"), RTLD_NOW | RTLD_LOCAL);
    if (driver == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    address_range = (int (*)(Pointer*, size_t*, Pointer))dlsym(driver, "cuMemGetAddressRange_v2");
    set_context();
}

static void expect_length(Allocate allocate, Free release, size_t asked, size_t wanted) {
    Pointer pointer = 0, base = 0;
    size_t bytes = 0;
    EXPECT_EQUAL(allocate(&pointer, asked), 0);
    EXPECT_EQUAL(address_range(&base, &bytes, pointer), 0);
    EXPECT_EQUAL(base, pointer);
    EXPECT_EQUAL(bytes, wanted);
    EXPECT_EQUAL(release(pointer), 0);
}

/* 4 allocations, 2 of them padded by 3 MiB - 2 in all, the larger one by 2 MiB - 1. */
static void expect_padding(Allocate allocate, Free release) {
    struct slowpath_pad_numbers before = numbers();
    expect_length(allocate, release, 2 * MIB - 1, 2 * MIB - 1);
    expect_length(allocate, release, 2 * MIB, 2 * MIB);
    expect_length(allocate, release, 4 * MIB + 1, 6 * MIB);
    expect_length(allocate, release, 5 * MIB + 1, 6 * MIB);
    struct slowpath_pad_numbers after = numbers();
    EXPECT_EQUAL(after.device_allocations - before.device_allocations, 4);
    EXPECT_EQUAL(after.device_padded - before.device_padded, 2);
    EXPECT_EQUAL(after.device_added_bytes - before.device_added_bytes, 3 * MIB - 2);
    EXPECT_EQUAL(after.device_added_peak_bytes, 2 * MIB - 1);
    EXPECT_EQUAL(after.device_added_now_bytes, 0);
}

static void opened(void) {
    expect_padding((Allocate)dlsym(driver, "cuMemAlloc_v2"), (Free)dlsym(driver, "cuMemFree_v2"));
}

static void proc_address(void) {
    typedef int (*First)(const char*, void**, int, uint64_t);
    typedef int (*Second)(const char*, void**, int, uint64_t, int*);
    void *allocate = NULL, *release = NULL, *second = NULL, *unknown = NULL;
    First first = (First)dlsym(driver, "cuGetProcAddress");
    EXPECT_EQUAL(first("cuMemAlloc", &allocate, 11030, 0), 0);
    EXPECT_EQUAL(first("cuMemFree", &release, 11030, 0), 0);
    expect_padding((Allocate)allocate, (Free)release);
    EXPECT_EQUAL(first("cuGetProcAddress", &second, 12000, 0), 0);
    EXPECT_EQUAL(((Second)second)("cuMemAlloc", &allocate, 12000, 0, NULL), 0);
    EXPECT_EQUAL(((Second)second)("cuMemFree", &release, 12000, 0, NULL), 0);
    expect_padding((Allocate)allocate, (Free)release);
    EXPECT_EQUAL(((Second)second)("cuNoSuchFunction", &unknown, 12000, 0, NULL), 500);
    /* Both ways to the same function, mixed. */
    expect_padding((Allocate)dlsym(driver, "cuMemAlloc_v2"), (Free)release);
}

/* cudaMalloc calls cuMemAlloc: padded and counted once. */
static void runtime(void) {
    void* library = dlopen(getenv("SLOWPATH_TEST_RUNTIME"), RTLD_NOW | RTLD_LOCAL);
    void *allocate = NULL, *release = NULL;
    expect_padding((Allocate)dlsym(library, "cudaMalloc"), (Free)dlsym(library, "cudaFree"));
    int (*entry)(const char*, void**, uint64_t, int*) =
        (int (*)(const char*, void**, uint64_t, int*))dlsym(library, "cudaGetDriverEntryPoint");
    EXPECT_EQUAL(entry("cuMemAlloc", &allocate, 0, NULL), 0);
    EXPECT_EQUAL(entry("cuMemFree", &release, 0, NULL), 0);
    expect_padding((Allocate)allocate, (Free)release);
}

static void plugin(void) {
    void* library = dlopen(getenv("SLOWPATH_TEST_PLUGIN"), RTLD_NOW | RTLD_LOCAL);
    EXPECT_EQUAL(dlsym(RTLD_DEFAULT, "cudaMalloc"), NULL);
    expect_padding((Allocate)dlsym(library, "plugin_allocate"), (Free)dlsym(library, "plugin_free"));
}

/* What rewrites code must get the driver's own function, not a wrapper of it. */
static void patcher(void) {
    void* library = dlopen(getenv("SLOWPATH_TEST_PATCHER"), RTLD_NOW | RTLD_LOCAL);
    void* (*look_up)(const char*) = (void* (*)(const char*))dlsym(library, "found_to_patch");
    Dl_info about = {0};
    EXPECT(dladdr(look_up("cuMemAlloc_v2"), &about) != 0);
    EXPECT(about.dli_fname != NULL && strstr(about.dli_fname, "pad_driver") != NULL);
    EXPECT(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") != look_up("cuMemAlloc_v2"));
    expect_padding((Allocate)dlsym(driver, "cuMemAlloc_v2"), (Free)dlsym(driver, "cuMemFree_v2"));
}

static void* work(void* unused) {
    Allocate allocate = (Allocate)dlsym(driver, "cuMemAlloc_v2");
    Free release = (Free)dlsym(driver, "cuMemFree_v2");
    Pointer held[10] = {0};
    (void)unused;
    for (int i = 0; i < ALLOCATIONS_EACH; ++i) {
        Pointer* here = &held[i * 7 % 10];
        if (*here != 0) EXPECT_EQUAL(release(*here), 0);
        EXPECT_EQUAL(allocate(here, 2 * MIB + 1 + (size_t)i), 0);
    }
    for (int i = 0; i < 10; ++i) EXPECT_EQUAL(release(held[i]), 0);
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (int i = 0; i < THREADS; ++i) pthread_create(&all[i], NULL, work, NULL);
    for (int i = 0; i < THREADS; ++i) pthread_join(all[i], NULL);
    struct slowpath_pad_numbers after = numbers();
    EXPECT_EQUAL(after.device_allocations, THREADS * ALLOCATIONS_EACH);
    EXPECT_EQUAL(after.device_padded, THREADS * ALLOCATIONS_EACH);
    EXPECT_EQUAL(after.device_added_now_bytes, 0);
    EXPECT(after.device_added_peak_bytes > 0);
    EXPECT(after.device_added_peak_bytes <= (uint64_t)THREADS * 10 * 2 * MIB);
}

/* SLOWPATH_STUB_CUDA_MOST_BYTES is 5 MiB: what fits without padding still does. */
static void short_of_memory(void) {
    Allocate allocate = (Allocate)dlsym(driver, "cuMemAlloc_v2");
    Pointer pointer = 0;
    expect_length(allocate, (Free)dlsym(driver, "cuMemFree_v2"), 4 * MIB + 1, 4 * MIB + 1);
    EXPECT_EQUAL(allocate(&pointer, 6 * MIB), 2);
    EXPECT_EQUAL(numbers().device_allocations, 1);
    EXPECT_EQUAL(numbers().device_padded, 0);
}

/* Without CUDA nothing is found that would not be there otherwise, and everything else is. */
static void absent(void) {
    void* whole = dlopen(NULL, RTLD_NOW);
    EXPECT_EQUAL(dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), NULL);
    EXPECT(dlerror() != NULL);
    EXPECT_EQUAL(dlsym(whole, "cudaMalloc"), NULL);
    EXPECT_EQUAL(dlsym(RTLD_DEFAULT, "cuNoSuchFunction"), NULL);
    EXPECT_EQUAL(dlsym(RTLD_DEFAULT, "strlen") == NULL, 0);
    EXPECT_EQUAL(dlsym(whole, "pthread_create"), (uintptr_t)pthread_create);
    void* library = dlopen(getenv("SLOWPATH_TEST_NEXT"), RTLD_NOW | RTLD_GLOBAL);
    EXPECT(library != NULL);
    EXPECT_EQUAL(numbers().device_allocations, 0);
}

#ifdef LINKED
int cuMemAlloc_v2(Pointer* pointer, size_t bytes);
int cuMemFree_v2(Pointer pointer);
int cudaMalloc(Pointer* pointer, size_t bytes);
int cudaFree(Pointer pointer);
int next_is_another(void);

static void linked(void) {
    expect_padding(cuMemAlloc_v2, cuMemFree_v2);
    expect_padding(cudaMalloc, cudaFree);
    /* The exported symbols are known to dlsym, and stay wrapped. */
    expect_padding((Allocate)dlsym(RTLD_DEFAULT, "cuMemAlloc_v2"), (Free)dlsym(RTLD_DEFAULT, "cudaFree"));
    EXPECT(next_is_another());
}
#else
static void linked(void) {
    EXPECT(0);
}
#endif

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } scenarios[] = {{"opened", opened},
                     {"proc_address", proc_address},
                     {"runtime", runtime},
                     {"threads", threads},
                     {"plugin", plugin},
                     {"patcher", patcher},
                     {"short_of_memory", short_of_memory},
                     {"linked", linked},
                     {"absent", absent}};
    const char* wanted = argc > 1 ? argv[1] : "";
    if (strcmp(wanted, "absent") != 0) open_driver();
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; ++i) {
        if (strcmp(scenarios[i].name, wanted) != 0) continue;
        scenarios[i].run();
        return failures != 0;
    }
    return 2;
}
