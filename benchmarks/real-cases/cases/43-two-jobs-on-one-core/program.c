// SPDX-License-Identifier: Apache-2.0
// A rank that computes. As `program beside OPTIONS...`: two mpiexec with these options, each of one rank, at a time.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { steps = 100, adds = 5 * 1000 * 1000 };

/// Starts mpiexec. The other job is not watched, and is started first.
static pid_t job(char* self, char** options, int count, int is_other) {
    const pid_t child = fork();
    if (child != 0) return child;
    char* argv[32] = {"mpiexec", "-n", "1"};
    int used = 3;
    for (int i = 0; i < count && used < 28; i++) argv[used++] = options[i];
    argv[used++] = self;
    if (is_other) {
        argv[used++] = "other";
        unsetenv("LD_PRELOAD");
    }
    execvp(argv[0], argv);
    _exit(2);
}

int main(int argc, char** argv) {
    if (argc > 1 && strcmp(argv[1], "beside") == 0) {
        const pid_t other = job(argv[0], argv + 2, argc - 2, 1), own = job(argv[0], argv + 2, argc - 2, 0);
        int first = 0, second = 0;
        waitpid(own, &first, 0);
        waitpid(other, &second, 0);
        return first != 0 || second != 0;
    }
    MPI_Init(&argc, &argv);
    volatile double sum = 1;
    const double begun = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < adds; i++) sum = sum * 0.999999 + 1;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (argc == 1) printf("%.6f s\n", MPI_Wtime() - begun);
    return MPI_Finalize();
}
