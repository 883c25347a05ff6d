// SPDX-License-Identifier: Apache-2.0
// Collectives that move blocks of one length: on each rank from and to datatypes of its own, in place or not,
// at any root, in communicators of both kinds.
#include "families.h"

static int barrier(Sequence* s, const Call* c, int by) {
    const MPI_Comm comm = c->group->comm;
    const int is_tried = by == tried;
    if (c->form == nonblocking)
        return waited(s, by, is_tried ? MPI_Ibarrier(comm, &s->request) : PMPI_Ibarrier(comm, &s->request));
#if HAS_MPI_4
    if (c->form == persistent)
        return started(s, by,
                       is_tried ? MPI_Barrier_init(comm, MPI_INFO_NULL, &s->request)
                                : PMPI_Barrier_init(comm, MPI_INFO_NULL, &s->request));
#endif
    return is_tried ? MPI_Barrier(comm) : PMPI_Barrier(comm);
}

COLLECTIVE(bcast, Bcast, bcast,
           (c->receive[by], c->receive_count, c->receive_type, c->root.argument, c->group->comm),
           (c->receive[by], c->receive_count, c->receive_type, c->root.argument, c->group->comm))

#define TO_OR_FROM_ROOT                                                                           \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->receive_count, c->receive_type, \
     c->root.argument, c->group->comm)
#define TO_ALL                                                                                    \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->receive_count, c->receive_type, \
     c->group->comm)

COLLECTIVE(gather, Gather, gather, TO_OR_FROM_ROOT, TO_OR_FROM_ROOT)
COLLECTIVE(scatter, Scatter, scatter, TO_OR_FROM_ROOT, TO_OR_FROM_ROOT)
COLLECTIVE(allgather, Allgather, allgather, TO_ALL, TO_ALL)
COLLECTIVE(alltoall, Alltoall, alltoall, TO_ALL, TO_ALL)

typedef enum { no_data, one_buffer, to_root, from_root, to_all, all_to_all } Kind;

static const struct {
    const char* name;
    Collective* call;
    Kind kind;
} collectives[] = {{"barrier", barrier, no_data},    {"bcast", bcast, one_buffer},
                   {"gather", gather, to_root},      {"scatter", scatter, from_root},
                   {"allgather", allgather, to_all}, {"alltoall", alltoall, all_to_all}};

// What MPI calls insignificant is rubbish, or nothing. Not so the buffer of MPI_Bcast at MPI_PROC_NULL, of
// which it says nothing: all three libraries check it, and a nonblocking call that one rank refuses stalls
// the later ones.
static void leave_out(Random* mine, const void* buffers[2], int* count, MPI_Datatype* type) {
    buffers[tried] = buffers[native] = one_in(mine, 2) ? NULL : (const void*)8;
    *count = one_in(mine, 2) ? 0 : -7;
    *type = one_in(mine, 2) ? MPI_DATATYPE_NULL : MPI_INT;
}

static void in_place(Call* c, int of_send) {
    for (int by = tried; by <= native; ++by)
        if (of_send)
            c->send[by] = MPI_IN_PLACE;
        else
            c->receive[by] = MPI_IN_PLACE;
}

// In blocks of four elements, or of none.
static long units_of(Random* all, const Group* group, int* is_large) {
    static const int few[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 11};
    const unsigned drawn = below(all, sizeof few / sizeof few[0]);
    const unsigned many = 1 + below(all, 4000 / (unsigned)(group->size + group->peers));
    *is_large = one_in(all, 64);
    return *is_large ? (long)many : few[drawn];
}

static int count_of(const Type* type, long units) {
    return (int)(type->elements == 1 ? units * elements_of_a_type : units);
}

static const Type* type_for(Sequence* s, Random* random, int is_empty, int is_large) {
    const Type* const drawn = any_type(&s->moved, random, is_empty);
    return is_large && drawn->is_interleaved ? &s->moved.types[1] : drawn;
}

void move_once(Sequence* s) {
    const unsigned which = below(&s->all, 16) == 0 ? 0 : 1 + below(&s->all, 5);
    const Group* const group = any_group(s);
    Call c = {.form = any_form(&s->all), .group = group, .root = any_root(&s->all, group)};
    const Kind kind = collectives[which].kind;
    int is_large;
    long units = units_of(&s->all, group, &is_large);
    if (group->is_inter && kind == to_root && !has_long_to_root_between) is_large = 0, units %= 8;
    if (group->is_inter && kind == one_buffer && !has_pending_bcast_between && c.form != large)
        c.form = blocking;
    const int is_empty = one_in(&s->all, 40);
    const int is_alike = kind == to_all && !has_unlike_to_all;
    Random* const random = is_alike ? &s->all : &s->mine;
    const Type* const sent = type_for(s, random, is_empty, is_large);
    const Type* const received = is_alike ? sent : type_for(s, random, is_empty, is_large);
    // In place everywhere, or at the root; never between groups.
    const int place = one_in(&s->all, 3) && !group->is_inter;
    const int is_in_place = place && (kind == to_all || kind == all_to_all || c.root.is_here);
    describe(s, "%s, %s, on %s, %ld x 4 elements of %d bytes, %s to %s%s, root %d", collectives[which].name,
             name_of(c.form), group->name, units, sent->bytes_of_one, sent->shape, received->shape,
             is_in_place ? ", in place" : "", c.root.argument);
    Pair *const send = is_large ? &s->large_send : &s->send, *const receive =
                                                                 is_large ? &s->large_receive : &s->receive;
    const int blocks_sent = kind == from_root || kind == all_to_all ? group->peers : 1;
    const int blocks_received = kind == to_root || kind == to_all || kind == all_to_all ? group->peers : 1;
    c.send_count = count_of(sent, units);
    c.receive_count = count_of(received, units);
    c.send_type = sent->handle;
    c.receive_type = received->handle;
    fill(send, &s->mine, sent, (long)c.send_count * blocks_sent);
    fill(receive, &s->mine, received, (long)c.receive_count * blocks_received);
    for (int by = tried; by <= native; ++by) {
        c.send[by] = send->origin[by];
        c.receive[by] = receive->origin[by];
    }
    if (is_in_place) in_place(&c, kind != from_root);
    if (is_in_place && one_in(&s->mine, 2)) {
        int* const count = kind == from_root ? &c.receive_count : &c.send_count;
        MPI_Datatype* const type = kind == from_root ? &c.receive_type : &c.send_type;
        *count = 0;
        *type = MPI_DATATYPE_NULL;
    }
    const void** const received_at = (const void**)c.receive;
    if (kind == to_root && !c.root.is_here)
        leave_out(&s->mine, received_at, &c.receive_count, &c.receive_type);
    if (kind == to_root && !c.root.has_block) leave_out(&s->mine, c.send, &c.send_count, &c.send_type);
    if (kind == from_root && !c.root.is_here) leave_out(&s->mine, c.send, &c.send_count, &c.send_type);
    if (kind == from_root && !c.root.has_block)
        leave_out(&s->mine, received_at, &c.receive_count, &c.receive_type);
    if (!call_both(s, &c, collectives[which].call)) return;
    same_bytes(s, send, "send buffer");
    same_bytes(s, receive, "receive buffer");
}
