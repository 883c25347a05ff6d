/* SPDX-License-Identifier: Apache-2.0
 * A library that stands in for a function and asks for the next one, as many tools do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <unistd.h>

int next_is_another(void);

pid_t getppid(void) {
    return 1;
}

int next_is_another(void) {
    void* next = dlsym(RTLD_NEXT, "getppid");
    return next != NULL && next != (void*)getppid && dlsym(RTLD_DEFAULT, "getppid") == (void*)getppid;
}
