// SPDX-License-Identifier: Apache-2.0
/* MPICH's communicator of threads: each thread is a rank, and the group is that of the processes.  Prints
 * "wrong: N", or "none" where the MPI has no such communicators. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#ifdef MPICH_NUMVERSION
#define HAS_THREADCOMM (MPICH_NUMVERSION >= 40200000)
#else
#define HAS_THREADCOMM 0
#endif

#if HAS_THREADCOMM
enum { threads = 3, calls = 20 };
static MPI_Comm all;
static int wrong;
static pthread_mutex_t counting = PTHREAD_MUTEX_INITIALIZER;

static void* take_part(void* unused) {
    (void)unused;
    int rank, size, differing = 0;
    MPIX_Threadcomm_start(all);
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &size);
    for (int i = 0; i < calls; ++i) {
        const int mine = rank + i;
        int sum = 0;
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, all);
        if (sum != size * (size - 1) / 2 + size * i) ++differing;
    }
    MPIX_Threadcomm_finish(all);
    pthread_mutex_lock(&counting);
    wrong += differing;
    pthread_mutex_unlock(&counting);
    return NULL;
}
#endif

int main(int argc, char** argv) {
    int level, rank;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
#if HAS_THREADCOMM
    MPIX_Threadcomm_init(MPI_COMM_WORLD, threads, &all);
    pthread_t others[threads];
    for (int i = 0; i < threads; ++i) pthread_create(&others[i], NULL, take_part, NULL);
    for (int i = 0; i < threads; ++i) pthread_join(others[i], NULL);
    MPIX_Threadcomm_free(&all);
    printf("rank %d wrong: %d\n", rank, wrong);
#else
    printf("rank %d none\n", rank);
#endif
    MPI_Finalize();
    return 0;
}
