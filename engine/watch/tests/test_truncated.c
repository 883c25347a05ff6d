/* SPDX-License-Identifier: Apache-2.0
 * Rank 0 truncates the files of the folder RECORDS while all ranks go on to communicate. Prints `whole` where
 * all results are right. Arguments: RECORDS; where it isn't there, nothing is truncated. */
#include <dirent.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

enum { rounds = 2000 };

static void truncate_all(const char* folder) {
    char path[4096];
    DIR* const open = opendir(folder);
    if (open == NULL) return;
    for (const struct dirent* entry; (entry = readdir(open)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (entry->d_name[0] != '.' && truncate(path, 0) != 0) perror(path);
    }
    closedir(open);
}

int main(int count, char** arguments) {
    int rank, size, wrong = 0;
    MPI_Init(&count, &arguments);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank), MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; ++round) {
        int out = rank + round, in = -1, sum = -1;
        if (round == rounds / 2 && rank == 0) truncate_all(arguments[1]);
        MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 5, &in, 1, MPI_INT, (rank + size - 1) % size, 5,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        wrong += sum != size * (size - 1) / 2 + size * round;
    }
    MPI_Finalize();
    if (rank == 0 && wrong == 0) puts("whole");
    return wrong == 0 ? 0 : 1;
}
