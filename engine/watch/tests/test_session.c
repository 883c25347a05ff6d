// SPDX-License-Identifier: Apache-2.0
/* Sessions that may be finalized only when nothing of them is left (MPICH's info key strict_finalize; others
 * pass over it), two at once and one after another, with a communicator each.  Prints "errors: N, wrong: N"
 * on each rank. */
#include <mpi.h>
#include <stdio.h>

static int errors, wrong;

static MPI_Session begun(void) {
    MPI_Info strict;
    MPI_Session session;
    MPI_Info_create(&strict);
    MPI_Info_set(strict, "strict_finalize", "1");
    errors += MPI_Session_init(strict, MPI_ERRORS_RETURN, &session) != MPI_SUCCESS;
    MPI_Info_free(&strict);
    return session;
}

static void use(MPI_Session session, const char* tag) {
    MPI_Group all;
    MPI_Comm communicator;
    int rank, size, sum = 0;
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Comm_create_from_group(all, tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &communicator);
    MPI_Comm_rank(communicator, &rank);
    MPI_Comm_size(communicator, &size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, communicator);
    wrong += sum != size * (size - 1) / 2;
    MPI_Comm_free(&communicator);
    MPI_Group_free(&all);
}

int main(void) {
    MPI_Session unused = begun();
    errors += MPI_Session_finalize(&unused) != MPI_SUCCESS;
    MPI_Session first = begun(), second = begun();
    use(first, "first");
    use(second, "second");
    errors += MPI_Session_finalize(&second) != MPI_SUCCESS;
    use(first, "again");
    errors += MPI_Session_finalize(&first) != MPI_SUCCESS;
    printf("errors: %d, wrong: %d\n", errors, wrong);
    return 0;
}
