/* SPDX-License-Identifier: Apache-2.0
 * A CUDA driver that answers questions about addresses, and counts them.
 */
#include "../../memory/tests/stub_cuda.c"

int stub_questions;
int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer);

int cuPointerGetAttribute(void* value, int attribute, unsigned long long pointer) {
    Region r;
    ++stub_questions;
    if (find_region((char*)(uintptr_t)pointer, 1, &r) != SUCCESS) return INVALID_VALUE;
    switch (attribute) {
        case 2:
            *(unsigned*)value = r.kind == 'h' || r.kind == 'r' ? 1 : 2;
            return SUCCESS;
        case 7:
            *(unsigned long long*)value = (uintptr_t)r.base;
            return SUCCESS;
        case 8:
            *(unsigned*)value = r.kind == 'm';
            return SUCCESS;
        case 9:
            *(int*)value = 3;
            return SUCCESS;
        case 11:
            *(void**)value = r.base;
            return SUCCESS;
        case 12:
            *(size_t*)value = r.bytes;
            return SUCCESS;
        default:
            return INVALID_VALUE;
    }
}
