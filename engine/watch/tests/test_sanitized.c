/* SPDX-License-Identifier: Apache-2.0
 * A program with one large block, which a sanitizer looks after; with an argument it writes behind it. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { bytes = 1 << 20 };

int main(int count, char** arguments) {
    MPI_Init(&count, &arguments);
    char* const block = malloc(bytes);
    memset(block, 1, bytes);
    MPI_Allreduce(MPI_IN_PLACE, block, bytes, MPI_CHAR, MPI_MAX, MPI_COMM_WORLD);
    if (count > 1) {
        volatile int behind = bytes;
        block[behind] = 1;
    }
    free(block);
    MPI_Finalize();
    return 0;
}
