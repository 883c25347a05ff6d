// SPDX-License-Identifier: Apache-2.0
/* Prints the median over blocks of what calls take, ns: NAME VALUE. One rank, started alone. The last one
 * takes the parts of an array, a message each, so that no call has the address of the one before: with the
 * calls that complete them, per send and per receive. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { blocks = 301, calls = 2000, parts = 512 };
static double times[blocks];

static int by_value(const void* one, const void* other) {
    const double difference = *(const double*)one - *(const double*)other;
    return (difference > 0) - (difference < 0);
}

#define TIME_EACH(name, count, each, ...)                                  \
    do {                                                                   \
        for (int block = 0; block < blocks; ++block) {                     \
            const double since = MPI_Wtime();                              \
            for (int call = 0; call < (count); ++call) __VA_ARGS__;        \
            times[block] = (MPI_Wtime() - since) * 1e9 / (count) / (each); \
        }                                                                  \
        qsort(times, blocks, sizeof times[0], by_value);                   \
        printf(name " %.1f\n", times[blocks / 2]);                         \
    } while (0)
#define TIME(name, ...) TIME_EACH(name, calls, 1, __VA_ARGS__)

int main(int count, char** arguments) {
    static char in[8], out[8];
    int rank, flag;
    MPI_Init(&count, &arguments);
    TIME("MPI_Comm_rank", MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    TIME("MPI_Iprobe", MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
    MPI_Message message;
    TIME("MPI_Improbe", MPI_Improbe(0, call % 256, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE));
    enum { edges = 8192, used = 128 };
    static MPI_Request edge[edges];
    for (int i = 0; i < edges; ++i) MPI_Recv_init(in, 8, MPI_BYTE, MPI_PROC_NULL, i, MPI_COMM_SELF, &edge[i]);
    TIME_EACH("Waitall_idle", 4, edges,
              (MPI_Startall(used, edge), MPI_Waitall(edges, edge, MPI_STATUSES_IGNORE)));
    MPI_Irecv(in, 8, MPI_BYTE, 0, 1, MPI_COMM_SELF, &edge[0]);
    TIME("MPI_Test", MPI_Test(&edge[0], &flag, MPI_STATUS_IGNORE));
    MPI_Cancel(&edge[0]);
    MPI_Wait(&edge[0], MPI_STATUS_IGNORE);
    MPI_Errhandler handler;
    TIME_EACH("errhandlers", calls, 2,
              (MPI_Comm_get_errhandler(MPI_COMM_SELF, &handler), MPI_Errhandler_free(&handler)));
    TIME("MPI_Sendrecv",
         MPI_Sendrecv(out, 8, MPI_BYTE, 0, 2, in, 8, MPI_BYTE, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    MPI_Request both[2];
    TIME("Isend_Irecv_Waitall", (MPI_Irecv(in, 8, MPI_BYTE, 0, 3, MPI_COMM_SELF, &both[0]),
                                 MPI_Isend(out, 8, MPI_BYTE, 0, 3, MPI_COMM_SELF, &both[1]),
                                 MPI_Waitall(2, both, MPI_STATUSES_IGNORE)));
    TIME("MPI_Allreduce", MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF));
    static double values[parts], taken[parts];
    static MPI_Request requests[parts];
    const int rounds = 4;
    TIME_EACH("Irecv_Send_parts", rounds, 2 * parts, {
        for (int i = 0; i < parts; ++i)
            MPI_Irecv(&taken[i], 1, MPI_DOUBLE, 0, 4, MPI_COMM_SELF, &requests[i]);
        for (int i = 0; i < parts; ++i) MPI_Send(&values[i], 1, MPI_DOUBLE, 0, 4, MPI_COMM_SELF);
        MPI_Waitall(parts, requests, MPI_STATUSES_IGNORE);
    });
    MPI_Finalize();
    return 0;
}
