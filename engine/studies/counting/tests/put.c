// SPDX-License-Identifier: Apache-2.0
// Rank 0 puts 8 bytes at a time into the last rank's window: a region with known calls, for every counter.
//   put [PUTS [WARM_UP]]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { slots = 64 };

// Named, so that callgrind can count inside it only; never inlined, cloned or split.
__attribute__((noinline, noclone)) void counted_region(int puts, const double* origin, int target,
                                                       MPI_Win window) {
    for (int i = 0; i < puts; ++i)
        MPI_Put(origin + i % slots, 1, MPI_DOUBLE, target, i % slots, 1, MPI_DOUBLE, window);
}

int main(int count, char** arguments) {
    const int puts = count > 1 ? atoi(arguments[1]) : 16;
    const int warm_up = count > 2 ? atoi(arguments[2]) : 0;
    int rank, size;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    double origin[slots];
    for (int i = 0; i < slots; ++i) origin[i] = i + 1.0 / 3;
    double* memory;
    MPI_Win window;
    MPI_Win_allocate(sizeof origin, sizeof(double), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    for (int i = 0; i < slots; ++i) memory[i] = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, window);
    if (rank == 0) {
        for (int i = 0; i < warm_up; ++i) {
            MPI_Put(origin, 1, MPI_DOUBLE, size - 1, 0, 1, MPI_DOUBLE, window);
            MPI_Win_flush(size - 1, window);
        }
        counted_region(puts, origin, size - 1, window);
        MPI_Win_flush(size - 1, window);
    }
    MPI_Win_unlock_all(window);
    MPI_Barrier(MPI_COMM_WORLD);
    int wrong = 0;
    if (rank == size - 1)
        for (int i = 0; i < slots && i < puts; ++i) wrong += memory[i] != i + 1.0 / 3;
    MPI_Win_free(&window);
    MPI_Finalize();
    if (wrong) fprintf(stderr, "put: %d wrong values\n", wrong);
    return wrong != 0;
}
