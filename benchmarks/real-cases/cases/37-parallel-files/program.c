// SPDX-License-Identifier: Apache-2.0
// Two ranks write blocks in turns into one file, each by a call of its own.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 4096, blocks = 8000 };

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    static char block[bytes];
    memset(block, rank, bytes);
    MPI_File file;
    const char* name = "real-case-37.data";
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_set_atomicity(file, 1);
    const double begun = MPI_Wtime();
    for (int i = 0; i < blocks; i++)
        MPI_File_write_at(file, ((MPI_Offset)i * size + rank) * bytes, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    MPI_File_close(&file);
    return MPI_Finalize();
}
