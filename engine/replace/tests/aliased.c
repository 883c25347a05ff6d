// SPDX-License-Identifier: Apache-2.0
/* One buffer given to send and to receive, which MPI forbids: what the library says of it.  Prints the error
 * classes "gather scatter allreduce allgather alltoall scan reduce_scatter_block", the first two called by
 * the root alone; 0: none. */
#include <mpi.h>
#include <stdio.h>

static int class_of(int code) {
    int found = 0;
    MPI_Error_class(code, &found);
    return found;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int data[64] = {0}, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const MPI_Comm world = MPI_COMM_WORLD;
    const int codes[] = {
        MPI_Allreduce(data, data, 2, MPI_INT, MPI_SUM, world),
        MPI_Allgather(data + 2 * rank, 2, MPI_INT, data, 2, MPI_INT, world),
        MPI_Alltoall(data, 2, MPI_INT, data, 2, MPI_INT, world),
        MPI_Scan(data, data, 2, MPI_INT, MPI_SUM, world),
        MPI_Reduce_scatter_block(data, data, 2, MPI_INT, MPI_SUM, world),
    };
    const int alone[] = {
        rank != 0 ? MPI_SUCCESS : MPI_Gather(data, 2, MPI_INT, data, 2, MPI_INT, 0, world),
        rank != 0 ? MPI_SUCCESS : MPI_Scatter(data, 2, MPI_INT, data, 2, MPI_INT, 0, world),
    };
    if (rank == 0) printf("%d %d ", class_of(alone[0]), class_of(alone[1]));
    if (rank == 0)
        for (unsigned i = 0; i < sizeof codes / sizeof *codes; ++i) printf("%d ", class_of(codes[i]));
    MPI_Finalize();
    return 0;
}
