/* SPDX-License-Identifier: Apache-2.0
 * A cuBLAS for tests: the entry points that gpu/cublas.hpp asks for, by loops, on the streams of
 * stub_cuda_streams.c, which is loaded before it.
 *   SLOWPATH_STUB_CUBLAS_FAIL=CALL=CODE  every call of CALL returns CODE
 *   SLOWPATH_STUB_CUBLAS_WRONG=ROW       each multiplication adds 1 to that row of the first column
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_TRANSPOSED = 0, FLOAT = 0, BFLOAT16 = 14, COMPUTE_FLOAT = 68, INVALID = 7, UNSUPPORTED = 15 };

typedef struct {
    void* stream;
    void (*enqueue)(void* stream, void (*run)(void*), void* argument);
    void (*wait_us)(const char* name);
} Handle;

typedef struct {
    Handle handle;
    int m, n, k, bfloat16;
    const void *a, *b;
    void* c;
    int add;
} Product;

static int injected_failure(const char* call) {
    const char* plan = getenv("SLOWPATH_STUB_CUBLAS_FAIL");
    size_t length = strlen(call);
    return plan != NULL && strncmp(plan, call, length) == 0 && plan[length] == '=' ? atoi(plan + length + 1)
                                                                                   : 0;
}

#define FAIL_IF_INJECTED()                      \
    do {                                        \
        int code_ = injected_failure(__func__); \
        if (code_ != 0) return code_;           \
    } while (0)

int cublasCreate_v2(Handle** made) {
    FAIL_IF_INJECTED();
    Handle handle = {NULL, NULL, NULL};
    *(void**)&handle.enqueue = dlsym(RTLD_DEFAULT, "stub_enqueue");
    *(void**)&handle.wait_us = dlsym(RTLD_DEFAULT, "stub_wait_us");
    if (handle.enqueue == NULL || handle.wait_us == NULL) return 1; /* CUBLAS_STATUS_NOT_INITIALIZED */
    *made = malloc(sizeof **made);
    **made = handle;
    return 0;
}

int cublasDestroy_v2(Handle* handle) {
    free(handle);
    return 0;
}

int cublasSetStream_v2(Handle* handle, void* stream) {
    FAIL_IF_INJECTED();
    handle->stream = stream;
    return 0;
}

int cublasGetVersion_v2(Handle* handle, int* version) {
    (void)handle;
    *version = 130102;
    return 0;
}

static double element(const void* matrix, int bfloat16, size_t at) {
    if (!bfloat16) return ((const double*)matrix)[at];
    uint32_t bits = (uint32_t)((const uint16_t*)matrix)[at] << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The sum is a float's where the real library's is. */
static void multiply(void* argument) {
    Product p = *(Product*)argument;
    const char* wrong = getenv("SLOWPATH_STUB_CUBLAS_WRONG");
    free(argument);
    p.handle.wait_us("SLOWPATH_STUB_CUDA_WORK_US");
    for (int column = 0; column < p.n; ++column)
        for (int row = 0; row < p.m; ++row) {
            size_t at = (size_t)column * (size_t)p.m + (size_t)row;
            double sum = 0;
            for (int i = 0; i < p.k; ++i)
                sum += element(p.a, p.bfloat16, (size_t)i * (size_t)p.m + (size_t)row) *
                       element(p.b, p.bfloat16, (size_t)column * (size_t)p.k + (size_t)i);
            if (wrong != NULL && column == 0 && row == atoi(wrong)) sum += 1;
            if (p.bfloat16)
                ((float*)p.c)[at] = (float)sum + (p.add ? ((float*)p.c)[at] : 0);
            else
                ((double*)p.c)[at] = sum + (p.add ? ((double*)p.c)[at] : 0);
        }
}

static int start(Handle* handle, Product wanted) {
    Product* product = malloc(sizeof *product);
    *product = wanted;
    product->handle = *handle;
    handle->enqueue(handle->stream, multiply, product);
    return 0;
}

int cublasDgemm_v2(Handle* handle, int of_a, int of_b, int m, int n, int k, const double* alpha,
                   const double* a, int lda, const double* b, int ldb, const double* beta, double* c,
                   int ldc) {
    FAIL_IF_INJECTED();
    if (of_a != NOT_TRANSPOSED || of_b != NOT_TRANSPOSED || *alpha != 1 || (*beta != 0 && *beta != 1) ||
        lda != m || ldb != k || ldc != m)
        return INVALID;
    return start(handle, (Product){{0}, m, n, k, 0, a, b, c, *beta != 0});
}

int cublasGemmEx(Handle* handle, int of_a, int of_b, int m, int n, int k, const float* alpha, const void* a,
                 int a_type, int lda, const void* b, int b_type, int ldb, const float* beta, void* c,
                 int c_type, int ldc, int compute_type, int algorithm) {
    FAIL_IF_INJECTED();
    if (a_type != BFLOAT16 || b_type != BFLOAT16 || c_type != FLOAT || compute_type != COMPUTE_FLOAT ||
        algorithm != -1)
        return UNSUPPORTED;
    if (of_a != NOT_TRANSPOSED || of_b != NOT_TRANSPOSED || *alpha != 1 || (*beta != 0 && *beta != 1) ||
        lda != m || ldb != k || ldc != m)
        return INVALID;
    return start(handle, (Product){{0}, m, n, k, 1, a, b, c, *beta != 0});
}
