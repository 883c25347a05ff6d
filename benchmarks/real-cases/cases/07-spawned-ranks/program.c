// SPDX-License-Identifier: Apache-2.0
// A ping-pong of 64 KiB: inside one world, or with a spawned rank.
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { bytes = 1 << 16, iterations = 4000 };

static char buffer[bytes];

static void exchange(MPI_Comm comm, int peer, int is_first) {
    for (int i = 0; i < iterations; i++) {
        if (is_first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm);
        MPI_Recv(buffer, bytes, MPI_BYTE, peer, 0, comm, MPI_STATUS_IGNORE);
        if (!is_first) MPI_Send(buffer, bytes, MPI_BYTE, peer, 0, comm);
    }
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm other;
    MPI_Comm_get_parent(&other);
    const int is_child = other != MPI_COMM_NULL;
    double begun = MPI_Wtime();
    if (argc > 1 && strcmp(argv[1], "spawn") == 0) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other, MPI_ERRCODES_IGNORE);
        begun = MPI_Wtime();
        exchange(other, 0, 1);
        printf("%.6f s\n", MPI_Wtime() - begun);
    } else if (is_child) {
        exchange(other, 0, 0);
    } else {
        int rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        exchange(MPI_COMM_WORLD, 1 - rank, rank == 0);
        if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    }
    if (other != MPI_COMM_NULL) MPI_Comm_disconnect(&other);
    return MPI_Finalize();
}
