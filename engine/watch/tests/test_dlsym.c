// SPDX-License-Identifier: Apache-2.0
/* A program that knows no MPI and opens one in a local scope, as Julia and mpi4py do. Argument: the library.
 * Exits with 0, or with the number of what went wrong. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char** arguments) {
    if (dlsym(RTLD_DEFAULT, "MPI_Init") != NULL) return 1; /* none is there yet, whatever is preloaded */
    void* const mpi = dlopen(arguments[count - 1], RTLD_NOW | RTLD_LOCAL);
    if (mpi == NULL) return fprintf(stderr, "%s\n", dlerror()), 2;
    if (dlsym(mpi, "MPI_No_such_call") != NULL || dlerror() == NULL) return 3;
    if (dlsym(mpi, "strlen") == NULL) return 4;
    int (*init)(int*, char***) = (int (*)(int*, char***))dlsym(mpi, "MPI_Init");
    int (*initialized)(int*) = (int (*)(int*))dlsym(mpi, "MPI_Initialized");
    int (*also)(int*) = (int (*)(int*))dlsym(mpi, "PMPI_Initialized");
    int (*finalize)(void) = (int (*)(void))dlsym(mpi, "MPI_Finalize");
    if (init == NULL || initialized == NULL || also == NULL || finalize == NULL) return 5;
    int flag = 0;
    if (init(NULL, NULL) != 0 || initialized(&flag) != 0 || flag == 0) return 6;
    flag = 0;
    if (also(&flag) != 0 || flag == 0) return 7;
    return finalize();
}
