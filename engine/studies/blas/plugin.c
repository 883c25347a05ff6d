/* SPDX-License-Identifier: Apache-2.0 */
/* libslowpath-blas.so: whatever BLAS CMake found, behind five names.  Loaded when a cell needs it
 * (experiments/cannon): linked into the engine itself, a BLAS would start its threads in every launch. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>

#ifndef SLOWPATH_BLAS_SYMBOL
#define SLOWPATH_BLAS_SYMBOL dgemm_
#endif

typedef void Dgemm(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                   const int*, const double*, const int*, const double*, double*, const int*);
extern Dgemm SLOWPATH_BLAS_SYMBOL;

void slowpath_blas_dgemm(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                         const int* k, const double* alpha, const double* a, const int* lda, const double* b,
                         const int* ldb, const double* beta, double* c, const int* ldc) {
    SLOWPATH_BLAS_SYMBOL(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

/* Names of one function under the prefixes that builds of OpenBLAS have. */
static void* openblas_function(const char* plain, const char* prefixed) {
    void* const found = dlsym(RTLD_DEFAULT, plain);
    if (found != NULL) return found;
    Dl_info self;
    if (dladdr((void*)SLOWPATH_BLAS_SYMBOL, &self) == 0 || self.dli_fname == NULL) return NULL;
    void* const library = dlopen(self.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    if (library == NULL) return NULL;
    void* const own = dlsym(library, plain);
    return own != NULL ? own : dlsym(library, prefixed);
}

const char* slowpath_blas_name(void) {
    char* (*const config)(void) =
        (char* (*)(void))openblas_function("openblas_get_config", "scipy_openblas_get_config");
    return config != NULL ? config() : "";
}

const char* slowpath_blas_core(void) {
    char* (*const core)(void) =
        (char* (*)(void))openblas_function("openblas_get_corename", "scipy_openblas_get_corename");
    return core != NULL ? core() : "";
}

const char* slowpath_blas_file(void) {
    static Dl_info info;
    return dladdr((void*)SLOWPATH_BLAS_SYMBOL, &info) != 0 ? info.dli_fname : "";
}

/* Returns the number of threads that the BLAS says it will use; 1 where it has no such function. */
int slowpath_blas_use_one_thread(void) {
    void (*const set)(int) =
        (void (*)(int))openblas_function("openblas_set_num_threads", "scipy_openblas_set_num_threads");
    int (*const get)(void) =
        (int (*)(void))openblas_function("openblas_get_num_threads", "scipy_openblas_get_num_threads");
    if (set != NULL) set(1);
    return get != NULL ? get() : 1;
}
