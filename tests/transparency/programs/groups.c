// SPDX-License-Identifier: Apache-2.0
// Communicators of every kind that the ranks can make.
#include <string.h>

#include "sequence.h"

static void add(Sequence* s, MPI_Comm comm, const char* name) {
    if (comm == MPI_COMM_NULL) return;
    Group* const made = &s->groups[s->groups_count++];
    *made = (Group){.comm = comm, .name = name};
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    PMPI_Comm_rank(comm, &made->rank);
    PMPI_Comm_size(comm, &made->size);
    PMPI_Comm_test_inter(comm, &made->is_inter);
    made->peers = made->size;
    if (made->is_inter) PMPI_Comm_remote_size(comm, &made->peers);
}

static MPI_Comm split(Sequence* s, int color, int key) {
    MPI_Comm made;
    need(MPI_Comm_split(s->world, color, key, &made), "MPI_Comm_split");
    return made;
}

void make_groups(Sequence* s) {
    MPI_Comm made;
    need(MPI_Comm_dup(s->world, &made), "MPI_Comm_dup");
    add(s, made, "duplicate");
    add(s, split(s, s->rank, 0), "alone");
    add(s, split(s, 0, -s->rank), "reversed");
    add(s, split(s, s->rank % 2, s->rank), "odd and even");
    add(s, split(s, s->rank * 2 >= s->size, -s->rank), "halves, reversed");
    MPI_Group all, turned;
    int order[64];
    for (int i = 0; i < s->size; ++i) order[i] = (i + 1) % s->size;
    MPI_Comm_group(s->world, &all);
    MPI_Group_incl(all, s->size, order, &turned);
    need(MPI_Comm_create(s->world, turned, &made), "MPI_Comm_create");
    add(s, made, "turned");
    MPI_Group_free(&turned);
    MPI_Group_free(&all);
}

static void between(Sequence* s, int side, int leader_of_other, const char* name) {
    MPI_Comm local, made;
    need(MPI_Comm_split(s->world, side, s->rank, &local), "MPI_Comm_split");
    need(MPI_Intercomm_create(local, 0, s->world, leader_of_other, 7, &made), "MPI_Intercomm_create");
    MPI_Comm_free(&local);
    add(s, made, name);
    s->groups[s->groups_count - 1].side = side;
}

void make_intercommunicators(Sequence* s) {
    need(s->size < 2 ? MPI_ERR_GROUP : MPI_SUCCESS, "groups need two ranks in MPI_COMM_WORLD");
    between(s, s->rank > 0, s->rank > 0 ? 0 : 1, "first and others");
    between(s, s->rank % 2, 1 - s->rank % 2, "between even and odd");
    const Group* const last = &s->groups[s->groups_count - 1];
    MPI_Comm made;
    need(MPI_Comm_dup(last->comm, &made), "MPI_Comm_dup between groups");
    const int side = last->side;
    add(s, made, "duplicate of an intercommunicator");
    s->groups[s->groups_count - 1].side = side;
    need(MPI_Intercomm_merge(made, side, &made), "MPI_Intercomm_merge");
    add(s, made, "merged");
}

static void add_topology(Sequence* s, MPI_Comm comm, const char* name, int sources, int destinations) {
    add(s, comm, name);
    s->groups[s->groups_count - 1].sources = sources;
    s->groups[s->groups_count - 1].destinations = destinations;
}

void make_topologies(Sequence* s) {
    MPI_Comm made;
    MPI_Cart_create(s->world, 1, &s->size, (int[]){1}, 0, &made);
    add_topology(s, made, "ring", 2, 2);
    MPI_Cart_create(s->world, 2, (int[]){s->size, 1}, (int[]){0, 1}, 1, &made);
    add_topology(s, made, "line", 4, 4);
    int sources[64], destinations[64], in = 0, out = 0;
    for (int i = 0; i < s->size; ++i) {
        if (hash_of(s->seed, (uint64_t)i, (uint64_t)s->rank) % 2) sources[in++] = i;
        if (hash_of(s->seed, (uint64_t)s->rank, (uint64_t)i) % 2) destinations[out++] = i;
    }
    MPI_Dist_graph_create_adjacent(s->world, in, sources, MPI_UNWEIGHTED, out, destinations, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &made);
    add_topology(s, made, "random graph", in, out);
}

void free_groups(Sequence* s) {
    for (int i = 0; i < s->groups_count; ++i) MPI_Comm_free(&s->groups[i].comm);
    s->groups_count = 0;
}
