// SPDX-License-Identifier: Apache-2.0
// Transposes of a matrix that is spread over ranks, by FFTW: transpose ROWS COLUMNS TIMES. Prints a checksum.
#include <fftw3-mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char** words) {
    MPI_Init(&count, &words);
    fftw_mpi_init();
    if (count != 4) {
        fprintf(stderr, "transpose ROWS COLUMNS TIMES\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const ptrdiff_t rows = atol(words[1]), columns = atol(words[2]);
    ptrdiff_t own, first, own_turned, first_turned;
    const ptrdiff_t cells = fftw_mpi_local_size_2d_transposed(rows, columns, MPI_COMM_WORLD, &own, &first, &own_turned,
                                                              &first_turned);
    double* data = fftw_alloc_real(2 * (size_t)cells);
    fftw_plan there = fftw_mpi_plan_transpose(rows, columns, data, data, MPI_COMM_WORLD, FFTW_ESTIMATE);
    fftw_plan back = fftw_mpi_plan_transpose(columns, rows, data, data, MPI_COMM_WORLD, FFTW_ESTIMATE);
    for (ptrdiff_t i = 0; i < own * columns; ++i) data[i] = (double)((first * columns + i) % 1009);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start_s = MPI_Wtime();
    for (int i = 0; i < atoi(words[3]); ++i) {
        fftw_execute(there);
        if (own_turned > 0) data[0] += 1;
        fftw_execute(back);
    }
    const double seconds = MPI_Wtime() - start_s;
    double sum = 0, all = 0;
    for (ptrdiff_t i = 0; i < own * columns; ++i) sum += data[i] * (double)(1 + (first * columns + i) % 31);
    MPI_Reduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("checksum %.17g\nseconds %.6f\n", all, seconds);
    fftw_destroy_plan(there);
    fftw_destroy_plan(back);
    fftw_free(data);
    MPI_Finalize();
    return 0;
}
