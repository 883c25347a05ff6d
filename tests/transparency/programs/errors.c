// SPDX-License-Identifier: Apache-2.0
// Arguments that MPI refuses: the same class of error, and as many calls of the error handler of the same
// communicator.
#include "families.h"

#define P(Name, arguments) (by == tried ? MPI_##Name arguments : PMPI_##Name arguments)

static int handled[2];
static int now;  // tried or native
static MPI_Comm handled_on;

static void handler(MPI_Comm* comm, int* code, ...) {
    (void)code;
    ++handled[now];
    handled_on = *comm;
}

// Not among them: what ends the program natively, as MPI_DATATYPE_NULL in MPI_Exscan does under MPICH 5.0.2.
enum { mistakes = 22 };

static int mistaken(int which, MPI_Comm comm, MPI_Datatype uncommitted, int by) {
    static int data[256], got[256];
    MPI_Comm made;
    now = by;
    switch (which) {
        case 0:
            return P(Bcast, (data, 4, MPI_INT, 99, comm));
        case 1:
            return P(Bcast, (data, -1, MPI_INT, 0, comm));
        case 2:
            return P(Bcast, (data, 4, MPI_DATATYPE_NULL, 0, comm));
        case 3:
            return P(Bcast, (data, 4, uncommitted, 0, comm));
        case 4:
            return P(Bcast, (data, 4, MPI_INT, -5, comm));
        case 5:
            return P(Allreduce, (data, got, 4, MPI_INT, MPI_OP_NULL, comm));
        case 6:
            return P(Allreduce, (data, got, 4, MPI_DOUBLE, MPI_BAND, comm));
        case 7:
            return P(Allreduce, (data, got, 4, MPI_2INT, MPI_SUM, comm));
        case 8:
            return P(Allreduce, (data, data, 4, MPI_INT, MPI_SUM, comm));
        case 9:
            return P(Reduce, (data, got, 4, MPI_INT, MPI_MAXLOC, 0, comm));
        case 10:
            return P(Reduce_scatter_block, (data, got, 4, uncommitted, MPI_SUM, comm));
        case 11:
            return P(Scan, (data, got, 4, MPI_INT, MPI_OP_NULL, comm));
        case 12:
            return P(Exscan, (data, got, 4, MPI_DOUBLE, MPI_BOR, comm));
        case 13:
            return P(Alltoall, (data, 1, uncommitted, got, 1, uncommitted, comm));
        case 14:
            return P(Allgather, (data, 1, MPI_INT, got, 1, MPI_DATATYPE_NULL, comm));
        case 15:
            return P(Gather, (data, 1, MPI_INT, got, 1, MPI_INT, 77, comm));
        case 16:
            return P(Scatter, (data, 1, MPI_INT, got, 1, MPI_INT, -3, comm));
        case 17:
            return P(Send, (data, 1, MPI_INT, 9999, 0, comm));
        case 18:
            return P(Recv, (data, -1, MPI_INT, 0, 0, comm, MPI_STATUS_IGNORE));
        case 19:
            return P(Send, (data, 1, uncommitted, 0, 0, comm));
        case 20:
            return P(Comm_create_group, (comm, MPI_GROUP_NULL, 0, &made));
        default:
            return P(Allgather, (data, 1, MPI_INT, got, -1, MPI_INT, comm));
    }
}

static int has_checks(MPI_Comm comm) {
    int data = 0;
    return PMPI_Bcast(&data, 1, MPI_INT, 99, comm) != MPI_SUCCESS;
}

void fail_once(Sequence* s) {
    const Group* const group = any_group(s);
    const int which = (int)below(&s->all, mistakes);
    const int has_handler = one_in(&s->all, 2);
    describe(s, "mistake %d on %s, %s", which, group->name, has_handler ? "with a handler" : "returned");
    // Some libraries are built without checks.
    if (!has_checks(group->comm)) return;
    MPI_Errhandler made;
    MPI_Datatype uncommitted;
    MPI_Comm_create_errhandler(handler, &made);
    MPI_Type_vector(8, 1, 2, MPI_INT, &uncommitted);
    if (has_handler) MPI_Comm_set_errhandler(group->comm, made);
    handled[tried] = handled[native] = 0;
    handled_on = group->comm;
    const int code = mistaken(which, group->comm, uncommitted, tried);
    const int is_on_it = handled_on == group->comm;
    same_codes(s, code, mistaken(which, group->comm, uncommitted, native));
    same_numbers(s, "calls of the error handler", handled[tried], handled[native]);
    same_numbers(s, "on the communicator", is_on_it, handled_on == group->comm);
    MPI_Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&made);
    MPI_Type_free(&uncommitted);
}
