// SPDX-License-Identifier: Apache-2.0
#include "lengths.h"

#include "families.h"

int units_between(const Sequence* s, int from, int to) {
    const uint64_t drawn = hash_of(s->seed ^ 77, (uint64_t)s->number, (uint64_t)(from * 1000 + to));
    return drawn % 4 == 0 ? 0 : (int)(drawn / 4 % (most_units + 1));
}

int count_of_units(const Type* type, long units) {
    return (int)(type->elements == 1 ? units * elements_of_a_type : units);
}

Blocks blocks_for(Sequence* s, int side, int peers) {
    const size_t n = (size_t)peers;
    return (Blocks){.counts = guarded(s, side, n * sizeof(int)),
                    .places = guarded(s, side + 1, n * sizeof(int)),
                    .large_counts = guarded(s, side + 2, n * sizeof(MPI_Count)),
                    .large_places = guarded(s, side + 3, n * sizeof(MPI_Aint)),
                    .types = guarded(s, side + 4, n * sizeof(MPI_Datatype))};
}

Blocks blocks_of_type(Sequence* s, int side, Pair* pair, const Type* type, int peers, const int units[]) {
    const Blocks made = blocks_for(s, side, peers);
    const int slot = count_of_units(type, most_units) + 1;
    const unsigned turn = below(&s->mine, 64);
    for (int i = 0; i < peers; ++i) {
        made.counts[i] = count_of_units(type, units[i]);
        made.large_counts[i] = made.counts[i];
        made.places[i] = (int)((unsigned)i + turn) % peers * slot + (int)below(&s->mine, 2);
        made.large_places[i] = made.places[i];
    }
    fill(pair, &s->mine, type, (long)peers * slot);
    return made;
}

Blocks blocks_of_types(Sequence* s, int side, Pair* pair, int peers, const int units[]) {
    const Blocks made = blocks_for(s, side, peers);
    ptrdiff_t end = 0;
    for (int i = 0; i < peers; ++i) {
        const Type* type = any_type(&s->moved, &s->mine, 0);
        if (type->is_interleaved) type = &s->moved.types[1];
        ptrdiff_t from, to;
        made.counts[i] = count_of_units(type, units[i]);
        made.large_counts[i] = made.counts[i];
        made.types[i] = type->handle;
        span_of(type, made.counts[i], &from, &to);
        made.large_places[i] = end - from;
        made.places[i] = (int)made.large_places[i];
        end += to - from;
    }
    fill_bytes(pair, &s->mine, 0, end);
    return made;
}

#define ONE_TO_MANY(counts, places)                                                                   \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->counts, c->places, c->receive_type, \
     c->root.argument, c->group->comm)

COLLECTIVE(gatherv, Gatherv, gatherv, ONE_TO_MANY(receive_counts, receive_places),
           ONE_TO_MANY(large_receive_counts, large_receive_places))

#define MANY_TO_ONE(counts, places)                                                                      \
    (c->send[by], c->counts, c->places, c->send_type, c->receive[by], c->receive_count, c->receive_type, \
     c->root.argument, c->group->comm)

COLLECTIVE(scatterv, Scatterv, scatterv, MANY_TO_ONE(send_counts, send_places),
           MANY_TO_ONE(large_send_counts, large_send_places))

#define ONE_TO_ALL(counts, places)                                                                    \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->counts, c->places, c->receive_type, \
     c->group->comm)

COLLECTIVE(allgatherv, Allgatherv, allgatherv, ONE_TO_ALL(receive_counts, receive_places),
           ONE_TO_ALL(large_receive_counts, large_receive_places))

#define MANY_TO_MANY(large, send_of, receive_of)                                         \
    (c->send[by], c->large##send_counts, c->large##send_places, send_of, c->receive[by], \
     c->large##receive_counts, c->large##receive_places, receive_of, c->group->comm)

COLLECTIVE(alltoallv, Alltoallv, alltoallv, MANY_TO_MANY(, c->send_type, c->receive_type),
           MANY_TO_MANY(large_, c->send_type, c->receive_type))
COLLECTIVE(alltoallw, Alltoallw, alltoallw, MANY_TO_MANY(, c->send_types, c->receive_types),
           MANY_TO_MANY(large_, c->send_types, c->receive_types))

typedef enum { to_root, from_root, to_all, all_to_all, all_to_all_types } Kind;

static const struct {
    const char* name;
    Collective* call;
} collectives[] = {[to_root] = {"gatherv", gatherv},
                   [from_root] = {"scatterv", scatterv},
                   [to_all] = {"allgatherv", allgatherv},
                   [all_to_all] = {"alltoallv", alltoallv},
                   [all_to_all_types] = {"alltoallw", alltoallw}};

static void sent_blocks(Call* c, const Blocks* blocks) {
    c->send_counts = blocks->counts;
    c->send_places = blocks->places;
    c->large_send_counts = blocks->large_counts;
    c->large_send_places = blocks->large_places;
    c->send_types = blocks->types;
}

static void received_blocks(Call* c, const Blocks* blocks) {
    c->receive_counts = blocks->counts;
    c->receive_places = blocks->places;
    c->large_receive_counts = blocks->large_counts;
    c->large_receive_places = blocks->large_places;
    c->receive_types = blocks->types;
}

static int this_rank(const Group* group) {
    return group->side * 100 + group->rank;
}

static int peer(const Group* group, int number) {
    return (group->is_inter ? (1 - group->side) * 100 : 0) + number;
}

// Of the root, whichever rank it is.
enum { the_root = 999 };

static void rooted(Sequence* s, Call* c, Kind kind, const Type* sent, const Type* received) {
    const Group* const group = c->group;
    int units[most_peers];
    for (int i = 0; i < group->peers; ++i)
        units[i] = kind == from_root ? units_between(s, the_root, peer(group, i))
                                     : units_between(s, peer(group, i), the_root);
    const int own = kind == from_root ? units_between(s, the_root, this_rank(group))
                                      : units_between(s, this_rank(group), the_root);
    const int has_arrays = kind == to_all || c->root.is_here;
    const int has_block = kind == to_all || c->root.has_block;
    fill_bytes(&s->send, &s->mine, 0, 0);
    fill_bytes(&s->receive, &s->mine, 0, 0);
    // Where there are no arrays they are null, and so is what goes with them.
    if (kind == from_root) {
        c->receive_type = has_block ? received->handle : MPI_DATATYPE_NULL;
        c->receive_count = has_block ? count_of_units(received, own) : 0;
        if (has_block) fill(&s->receive, &s->mine, received, c->receive_count);
        c->send_type = has_arrays ? sent->handle : MPI_DATATYPE_NULL;
        if (!has_arrays) return;
        const Blocks blocks = blocks_of_type(s, of_send, &s->send, sent, group->peers, units);
        sent_blocks(c, &blocks);
    } else {
        c->send_type = has_block ? sent->handle : MPI_DATATYPE_NULL;
        c->send_count = has_block ? count_of_units(sent, own) : 0;
        if (has_block) fill(&s->send, &s->mine, sent, c->send_count);
        c->receive_type = has_arrays ? received->handle : MPI_DATATYPE_NULL;
        if (!has_arrays) return;
        const Blocks blocks = blocks_of_type(s, of_receive, &s->receive, received, group->peers, units);
        received_blocks(c, &blocks);
    }
}

static void between_all(Sequence* s, Call* c, int is_in_place, int in_types, const Type* sent,
                        const Type* received) {
    const Group* const group = c->group;
    const int here = this_rank(group);
    int out[most_peers], in[most_peers];
    for (int i = 0; i < group->peers; ++i) {
        const int there = peer(group, i);
        const int is_first = here < there;
        out[i] = units_between(s, here, there);
        in[i] = is_in_place ? units_between(s, is_first ? here : there, is_first ? there : here)
                            : units_between(s, there, here);
    }
    c->send_type = sent->handle;
    c->receive_type = received->handle;
    const Blocks sends = in_types ? blocks_of_types(s, of_send, &s->send, group->peers, out)
                                  : blocks_of_type(s, of_send, &s->send, sent, group->peers, out);
    const Blocks receives = in_types ? blocks_of_types(s, of_receive, &s->receive, group->peers, in)
                                     : blocks_of_type(s, of_receive, &s->receive, received, group->peers, in);
    received_blocks(c, &receives);
    if (!is_in_place) sent_blocks(c, &sends);
}

void move_lengths_once(Sequence* s) {
    const Kind kind = (Kind)below(&s->all, 5);
    const Group* const group = any_group(s);
    Call c = {.form = any_form(&s->all), .group = group, .root = any_root(&s->all, group)};
    const int is_empty = one_in(&s->all, 40);
    const Type* const sent = any_type(&s->moved, &s->mine, is_empty);
    const Type* const received = any_type(&s->moved, &s->mine, is_empty);
    const int place = one_in(&s->all, 3) && !group->is_inter;
    const int is_in_place = place && (kind >= to_all || c.root.is_here);
    describe(s, "%s, %s, on %s, elements of %d bytes, %s to %s%s, root %d", collectives[kind].name,
             name_of(c.form), group->name, sent->bytes_of_one, sent->shape, received->shape,
             is_in_place ? ", in place" : "", c.root.argument);
    if (kind >= all_to_all)
        between_all(s, &c, is_in_place, kind == all_to_all_types, sent, received);
    else
        rooted(s, &c, kind, sent, received);
    const int is_one_sided = kind < to_all;
    for (int by = tried; by <= native; ++by) {
        const int has_send = !is_one_sided || (kind == from_root ? c.root.is_here : c.root.has_block);
        const int has_receive = !is_one_sided || (kind == from_root ? c.root.has_block : c.root.is_here);
        c.send[by] = has_send ? s->send.origin[by] : NULL;
        c.receive[by] = has_receive ? s->receive.origin[by] : NULL;
        if (is_in_place && kind == from_root) c.receive[by] = MPI_IN_PLACE;
        if (is_in_place && kind != from_root) c.send[by] = MPI_IN_PLACE;
    }
    if (!call_both(s, &c, collectives[kind].call)) return;
    same_bytes(s, &s->send, "send buffer");
    same_bytes(s, &s->receive, "receive buffer");
}
