// SPDX-License-Identifier: Apache-2.0
// What a call that is not replaced costs more: the name that a program calls against the profiling name, in
// turn, in blocks of calls that send nothing. One line a case: name, nanoseconds more (median of blocks), and
// the interval that holds the median with 95 % (order statistics).
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { blocks = 400, calls = 500 };

typedef int Bcast(void*, int, MPI_Datatype, int, MPI_Comm);
typedef int Allreduce(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm);

static int ascending(const void* left, const void* right) {
    const double x = *(const double*)left, y = *(const double*)right;
    return (x > y) - (x < y);
}

static double bcasts(Bcast* call, int count, MPI_Comm comm) {
    static char data[1 << 20];
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call(data, count, MPI_BYTE, 0, comm);
    return (MPI_Wtime() - begin) / calls * 1e9;
}

static double allreduces(Allreduce* call, int count, MPI_Comm comm) {
    static int data[64], got[64];
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) call(data, got, count, MPI_INT, MPI_SUM, comm);
    return (MPI_Wtime() - begin) / calls * 1e9;
}

// What a look at a communicator and a datatype costs in this library: the yardstick.
static double looks(MPI_Comm comm, int key) {
    static void* found;
    int there, size;
    const double begin = MPI_Wtime();
    for (int i = 0; i < calls; ++i) {
        MPI_Comm_get_attr(comm, key, &found, &there);
        MPI_Type_size(MPI_INT, &size);
    }
    return (MPI_Wtime() - begin) / calls * 1e9;
}

static void say(const char* name, double* more) {
    qsort(more, blocks, sizeof *more, ascending);
    const int half = (int)(1.96 * sqrt(blocks) / 2);
    printf("%s %.2f %.2f %.2f\n", name, more[blocks / 2], more[blocks / 2 - half], more[blocks / 2 + half]);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    static double bytes_outside[blocks], ranks_outside[blocks], no_row[blocks], look[blocks];
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(comm, key, &key);
    for (int i = -10; i < blocks; ++i) {
        const int turn = i & 1;
        double bcast[2], large[2], sum[2];
        for (int k = 0; k < 2; ++k) {
            const int own = k ^ turn;
            bcast[own] = bcasts(own ? PMPI_Bcast : MPI_Bcast, 8, comm);
            large[own] = bcasts(own ? PMPI_Bcast : MPI_Bcast, 1 << 16, comm);
            sum[own] = allreduces(own ? PMPI_Allreduce : MPI_Allreduce, 1, comm);
        }
        if (i < 0) continue;
        bytes_outside[i] = bcast[0] - bcast[1];
        ranks_outside[i] = large[0] - large[1];
        no_row[i] = sum[0] - sum[1];
        look[i] = looks(comm, key);
    }
    say("bytes_outside", bytes_outside);
    say("ranks_outside", ranks_outside);
    say("no_row", no_row);
    say("look", look);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
