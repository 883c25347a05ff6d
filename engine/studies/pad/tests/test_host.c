/* SPDX-License-Identifier: Apache-2.0
 * malloc and its kin under the preloaded library, with SLOWPATH_PAD_HOST=1; argument "off": without.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../slowpath_pad.h"
#include "expect.h"

static const size_t mib = 1 << 20;
enum { THREADS = 8 };

static struct slowpath_pad_numbers numbers(void) {
    struct slowpath_pad_numbers all = {0};
    ((void (*)(struct slowpath_pad_numbers*))dlsym(RTLD_DEFAULT, "slowpath_pad_statistics"))(&all);
    return all;
}

static int all_are(const unsigned char* bytes, size_t count, unsigned char wanted) {
    for (size_t i = 0; i < count; ++i)
        if (bytes[i] != wanted) return 0;
    return 1;
}

static void expect_large(void* pointer, size_t bytes) {
    EXPECT(pointer != NULL);
    EXPECT_EQUAL((uintptr_t)pointer % (2 * mib), 0);
    EXPECT(malloc_usable_size(pointer) >= bytes);
}

static void lengths(void) {
    void* small = malloc(4 * mib - 1);
    EXPECT_EQUAL(numbers().host_allocations, 0);
    free(small);
    char* volatile large = malloc(5 * mib + 1);
    expect_large(large, 6 * mib);
    memset(large, 1, 6 * mib);
    EXPECT_EQUAL(numbers().host_padded, 1);
    EXPECT_EQUAL(numbers().host_added_bytes, mib - 1);
    free(large);
    errno = 0;
    void* volatile impossible = malloc(SIZE_MAX / 2);
    EXPECT_EQUAL(impossible, NULL);
    EXPECT_EQUAL(errno, ENOMEM);
    volatile size_t too_many = SIZE_MAX / 2;
    EXPECT_EQUAL(calloc(too_many, 4), NULL);
}

static void zeroed(void) {
    /* Memory that has been used, so that zeroes don't come for free. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    unsigned char* volatile dirty = malloc(12 * mib);
    memset(dirty, 255, 12 * mib);
    free(dirty);
    unsigned char* clean = calloc(5, mib + 3);
    EXPECT(all_are(clean, 5 * (mib + 3), 0));
    EXPECT(malloc_usable_size(clean) >= 6 * mib);
    free(clean);
}

static void grown(void) {
    unsigned char* bytes = malloc(100);
    memset(bytes, 7, 100);
    bytes = realloc(bytes, 5 * mib);
    expect_large(bytes, 6 * mib);
    EXPECT(all_are(bytes, 100, 7));
    memset(bytes, 8, 5 * mib);
    unsigned char* volatile same = bytes;
    bytes = realloc(bytes, 6 * mib);
    EXPECT_EQUAL((uintptr_t)bytes, (uintptr_t)same);
    bytes = realloc(bytes, 33 * mib);
    expect_large(bytes, 34 * mib);
    EXPECT(all_are(bytes, 5 * mib, 8));
    bytes = realloc(bytes, 1000);
    EXPECT(all_are(bytes, 1000, 8));
    free(bytes);
    bytes = realloc(NULL, 8 * mib);
    expect_large(bytes, 8 * mib);
    EXPECT(realloc(bytes, SIZE_MAX / 2) == NULL);
    free(bytes);
}

static void* work(void* seed) {
    for (int i = 0; i < 10; ++i) {
        unsigned char mark = (unsigned char)((uintptr_t)seed + (uintptr_t)i);
        unsigned char* bytes = malloc(4 * mib + (size_t)i);
        memset(bytes, mark, 4096);
        bytes = realloc(bytes, 6 * mib + (size_t)i);
        EXPECT(all_are(bytes, 4096, mark));
        free(bytes);
    }
    return NULL;
}

static void threads(void) {
    pthread_t all[THREADS];
    for (uintptr_t i = 0; i < THREADS; ++i) pthread_create(&all[i], NULL, work, (void*)(i * 31));
    for (int i = 0; i < THREADS; ++i) pthread_join(all[i], NULL);
}

static void off(void) {
    char* volatile large = malloc(5 * mib + 1);
    EXPECT(malloc_usable_size(large) < 6 * mib);
    EXPECT_EQUAL(numbers().host_allocations, 0);
    free(large);
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "off") == 0) {
        off();
    } else {
        lengths();
        zeroed();
        grown();
        threads();
    }
    return failures != 0;
}
