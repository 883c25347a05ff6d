/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libslowpath-blas.so: plain loops, and in call number $SLOWPATH_FAULT_CALL of each process the
 * fault that $SLOWPATH_FAULT names. */
#include <stdlib.h>
#include <string.h>

static int fault_now(const char* fault) {
    const char* const asked = getenv("SLOWPATH_FAULT");
    return asked != NULL && strcmp(asked, fault) == 0;
}

static int call_is_due(void) {
    static int calls = 0;
    const char* const due = getenv("SLOWPATH_FAULT_CALL");
    return ++calls == (due != NULL ? atoi(due) : 1);
}

void slowpath_blas_dgemm(const char* transpose_a, const char* transpose_b, const int* m, const int* n,
                         const int* k, const double* alpha, const double* a, const int* lda, const double* b,
                         const int* ldb, const double* beta, double* c, const int* ldc) {
    (void)transpose_a, (void)transpose_b, (void)alpha, (void)beta;
    const int due = call_is_due();
    if (due && fault_now("drop")) return;
    for (int column = 0; column < *n; ++column)
        for (int inner = 0; inner < *k; ++inner)
            for (int row = 0; row < *m; ++row)
                c[(size_t)column * *ldc + row] +=
                    a[(size_t)inner * *lda + row] * b[(size_t)column * *ldb + inner];
    if (!due) return;
    if (fault_now("off_by_one")) c[0] += 1;
    if (fault_now("float"))
        for (int i = 0; i < *m * *n; ++i) c[i] = (float)c[i];
    if (fault_now("input")) ((double*)a)[0] += 1;
}

const char* slowpath_blas_name(void) {
    return "loops";
}
const char* slowpath_blas_core(void) {
    return "";
}
const char* slowpath_blas_file(void) {
    return "faulty_blas.c";
}
int slowpath_blas_use_one_thread(void) {
    return 1;
}
