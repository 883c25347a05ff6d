// SPDX-License-Identifier: Apache-2.0
// Attributes, names and the lives of communicators: callbacks are called as often as MPI says, and by nobody
// else.
#include <string.h>

#include "families.h"

static int copied, deleted;

static int copy(MPI_Comm comm, int key, void* state, void* in, void* out, int* is_there) {
    (void)comm, (void)key, (void)state;
    ++copied;
    *(void**)out = in;
    *is_there = 1;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void* value, void* state) {
    (void)comm, (void)key, (void)value, (void)state;
    ++deleted;
    return MPI_SUCCESS;
}

static int copy_of_type(MPI_Datatype type, int key, void* state, void* in, void* out, int* is_there) {
    (void)type, (void)key, (void)state;
    ++copied;
    *(void**)out = in;
    *is_there = 1;
    return MPI_SUCCESS;
}

static int forget_of_type(MPI_Datatype type, int key, void* value, void* state) {
    (void)type, (void)key, (void)value, (void)state;
    ++deleted;
    return MPI_SUCCESS;
}

// Collectives, each of which may make something of its own for the communicator.
static void use(Sequence* s, MPI_Comm comm) {
    int rank, size, sum = 0, one = 1, scanned = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
    same_numbers(s, "sum", sum, size);
    MPI_Scan(&one, &scanned, 1, MPI_INT, MPI_SUM, comm);
    same_numbers(s, "scan", scanned, rank + 1);
    MPI_Bcast(&rank, 1, MPI_INT, size - 1, comm);
    same_numbers(s, "bcast", rank, size - 1);
}

static void with_attributes(Sequence* s, MPI_Comm comm) {
    int key, value = 5, is_there = 0;
    int* found = NULL;
    MPI_Comm made;
    MPI_Comm_create_keyval(copy, forget, &key, NULL);
    copied = deleted = 0;
    MPI_Comm_set_attr(comm, key, &value);
    use(s, comm);
    same_numbers(s, "copies before a duplicate", copied, 0);
    if (one_in(&s->all, 2)) {
        MPI_Comm_dup(comm, &made);
    } else {
        MPI_Request request;
        MPI_Comm_idup(comm, &made, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    same_numbers(s, "copies", copied, 1);
    use(s, made);
    MPI_Comm_get_attr(made, key, &found, &is_there);
    same_numbers(s, "attribute of the duplicate", is_there && found == &value, 1);
    MPI_Comm_free(&made);
    same_numbers(s, "deletions", deleted, 1);
    MPI_Comm_delete_attr(comm, key);
    same_numbers(s, "deletions in all", deleted, 2);
    same_numbers(s, "copies in all", copied, 1);
    MPI_Comm_free_keyval(&key);
}

static void with_types(Sequence* s) {
    int key, value = 5;
    MPI_Datatype one, other;
    MPI_Type_create_keyval(copy_of_type, forget_of_type, &key, NULL);
    MPI_Type_contiguous(3, MPI_INT, &one);
    copied = deleted = 0;
    MPI_Type_set_attr(one, key, &value);
    MPI_Type_commit(&one);
    int data[3] = {1, 2, 3};
    MPI_Bcast(data, 1, one, 0, s->world);
    MPI_Type_dup(one, &other);
    MPI_Type_free(&one);
    MPI_Bcast(data, 1, other, 0, s->world);
    MPI_Type_free(&other);
    same_numbers(s, "copies of a datatype's", copied, 1);
    same_numbers(s, "deletions of a datatype's", deleted, 2);
    MPI_Type_free_keyval(&key);
}

static void made_anew(Sequence* s, MPI_Comm comm) {
    MPI_Comm made;
    MPI_Group group;
    int compared;
    char name[MPI_MAX_OBJECT_NAME], got[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_group(comm, &group);
    MPI_Comm_create_group(comm, group, 3, &made);
    MPI_Group_free(&group);
    strcpy(name, "of the program");
    MPI_Comm_set_name(made, name);
    use(s, made);
    MPI_Comm_get_name(made, got, &length);
    same_numbers(s, "name", strcmp(name, got), 0);
    MPI_Comm_compare(comm, made, &compared);
    same_numbers(s, "compared", compared, MPI_CONGRUENT);
    // The request is completed after the handle is gone.
    MPI_Request request;
    int one = 1, sum = 0, size;
    MPI_Comm_size(made, &size);
    MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made, &request);
    MPI_Comm_free(&made);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    same_numbers(s, "sum after the handle is gone", sum, size);
}

void handle_once(Sequence* s) {
    const Group* const group = any_group(s);
    const unsigned which = below(&s->all, 3);
    describe(s, "%s, on %s",
             which == 0   ? "attributes"
             : which == 1 ? "datatypes"
                          : "communicators",
             group->name);
    if (which == 0) with_attributes(s, group->comm);
    if (which == 1) with_types(s);
    if (which == 2) made_anew(s, group->comm);
}

enum { most_communicators = 3000 };

// Duplicates until the library has no more, each used. @return How many there were at a time.
int use_up_communicators(Sequence* s) {
    static MPI_Comm made[most_communicators];
    int count = 0, all_could = 1;
    describe(s, "duplicates until there are no more");
    while (count < most_communicators && all_could) {
        const int code = MPI_Comm_dup(s->world, &made[count]);
        int can = code == MPI_SUCCESS;
        PMPI_Allreduce(&can, &all_could, 1, MPI_INT, MPI_MIN, s->world);
        if (!all_could) break;
        int one = 1, sum = 0;
        if (MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[count]) != MPI_SUCCESS) {
            differs(s, "an allreduce fails on duplicate %d", count);
            break;
        }
        same_numbers(s, "sum on a duplicate", sum, s->size);
        ++count;
    }
    for (int i = 0; i < count; ++i) MPI_Comm_free(&made[i]);
    return count;
}
