// SPDX-License-Identifier: Apache-2.0
// Two ranks exchange 4 MiB. As `program confined COMMAND...`: COMMAND under a filter that refuses single copies.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { bytes = 4 << 20, iterations = 600 };

static char out[bytes], in[bytes];

static int confined(char** command) {
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof rows / sizeof rows[0], .filter = rows};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        return perror("seccomp"), 2;
    execvp(command[0], command);
    return perror(command[0]), 2;
}

int main(int argc, char** argv) {
    if (argc > 2 && strcmp(argv[1], "confined") == 0) return confined(argv + 2);
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double begun = MPI_Wtime();
    for (int i = 0; i < iterations; i++)
        MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - rank, 0, in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    if (rank == 0) printf("%.6f s\n", MPI_Wtime() - begun);
    return MPI_Finalize();
}
