/* SPDX-License-Identifier: Apache-2.0
 * Memory that ends the program when more of it is read than MPI may read, and a file of what was received. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

enum { guarded_page = 4096 };

/* Room of this many bytes that ends where a page begins that nobody may read. */
static inline void* guarded(size_t bytes) {
    char* const pages = (char*)mmap(NULL, 2 * (size_t)guarded_page, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(pages + guarded_page, guarded_page, PROT_NONE);
    return pages + guarded_page - bytes;
}

/* An argument that MPI calls insignificant: not even its first byte may be read. */
static inline void* insignificant(void) {
    return guarded(0);
}

/* As many ints as a group has ranks, all of one value. */
static inline int* of_each(int ranks, int value) {
    int* const all = (int*)guarded((size_t)ranks * sizeof *all);
    for (int at = 0; at < ranks; ++at) all[at] = value;
    return all;
}

/* 0, step, 2 * step, ... */
static inline int* distances(int ranks, int step) {
    int* const all = of_each(ranks, 0);
    for (int at = 0; at < ranks; ++at) all[at] = at * step;
    return all;
}

static FILE* out_file;
static inline void print(const char* what, const int* values, int count) {
    fprintf(out_file, "%s:", what);
    for (int at = 0; at < count; ++at) fprintf(out_file, " %d", values[at]);
    fputc('\n', out_file);
    fflush(out_file);
}
