// SPDX-License-Identifier: Apache-2.0
/* Linked with other_mpi.c; with an argument it calls what that lacks. A weak reference to another such call
 * is null. */
int MPI_Init(int*, char***);
int MPI_Finalize(void);
int MPI_Buffer_flush(void);
int MPI_Bcast_c(void);
#pragma weak MPI_Bcast_c

int main(int count, char** arguments) {
    if (MPI_Init(&count, &arguments) != 0 || MPI_Init(&count, &arguments) != 0) return 1;
    if (MPI_Bcast_c) return 4;
    if (count > 1) return MPI_Buffer_flush();
    return MPI_Finalize() == 0 ? 3 : 1;
}
