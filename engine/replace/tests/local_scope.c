// SPDX-License-Identifier: Apache-2.0
/* Knows no MPI and opens a program that does in a local scope, as Python opens mpi4py. Arguments: that
 * program, built as a library, and its own. */
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
    void* const opened = count > 1 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (opened == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
    int (*const run)(int, char**) = (int (*)(int, char**))dlsym(opened, "main");
    return run == NULL ? 3 : run(count - 1, arguments + 1);
}
