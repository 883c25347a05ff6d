// SPDX-License-Identifier: Apache-2.0
// Collectives of neighbours on rings, lines and graphs, some of whose ranks have no neighbour.
#include "families.h"
#include "lengths.h"

#define ONE_LENGTH                                                                                \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->receive_count, c->receive_type, \
     c->group->comm)

COLLECTIVE(allgather, Neighbor_allgather, neighbor_allgather, ONE_LENGTH, ONE_LENGTH)
COLLECTIVE(alltoall, Neighbor_alltoall, neighbor_alltoall, ONE_LENGTH, ONE_LENGTH)

#define TO_ALL(large)                                                                    \
    (c->send[by], c->send_count, c->send_type, c->receive[by], c->large##receive_counts, \
     c->large##receive_places, c->receive_type, c->group->comm)

COLLECTIVE(allgatherv, Neighbor_allgatherv, neighbor_allgatherv, TO_ALL(), TO_ALL(large_))

#define TO_EACH(counts, places, send_of, receive_of)                                       \
    (c->send[by], c->counts##send_counts, c->places##send_places, send_of, c->receive[by], \
     c->counts##receive_counts, c->places##receive_places, receive_of, c->group->comm)

COLLECTIVE(alltoallv, Neighbor_alltoallv, neighbor_alltoallv, TO_EACH(, , c->send_type, c->receive_type),
           TO_EACH(large_, large_, c->send_type, c->receive_type))
COLLECTIVE(alltoallw, Neighbor_alltoallw, neighbor_alltoallw,
           TO_EACH(, large_, c->send_types, c->receive_types),
           TO_EACH(large_, large_, c->send_types, c->receive_types))

typedef enum { to_all, to_each, lengths_to_all, lengths_to_each, types_to_each } Kind;

static const struct {
    const char* name;
    Collective* call;
} collectives[] = {[to_all] = {"neighbor_allgather", allgather},
                   [to_each] = {"neighbor_alltoall", alltoall},
                   [lengths_to_all] = {"neighbor_allgatherv", allgatherv},
                   [lengths_to_each] = {"neighbor_alltoallv", alltoallv},
                   [types_to_each] = {"neighbor_alltoallw", alltoallw}};

static void neighbours_of(const Group* group, int sources[], int destinations[]) {
    int kind, dimensions;
    PMPI_Topo_test(group->comm, &kind);
    if (kind == MPI_DIST_GRAPH) {
        int weights[most_peers], others[most_peers];
        PMPI_Dist_graph_neighbors(group->comm, group->sources, sources, weights, group->destinations,
                                  destinations, others);
        return;
    }
    PMPI_Cartdim_get(group->comm, &dimensions);
    for (int i = 0; i < dimensions; ++i)
        PMPI_Cart_shift(group->comm, i, 1, &sources[2 * i], &sources[2 * i + 1]);
    for (int i = 0; i < 2 * dimensions; ++i) destinations[i] = sources[i];
}

void meet_neighbours_once(Sequence* s) {
    const Kind kind = (Kind)below(&s->all, 5);
    const Group* const group = any_group(s);
    Call c = {.form = any_form(&s->all), .group = group};
    const Type* const sent = any_type(&s->moved, &s->mine, 0);
    const Type* const received = any_type(&s->moved, &s->mine, 0);
    describe(s, "%s, %s, on %s, elements of %d bytes, %s to %s", collectives[kind].name, name_of(c.form),
             group->name, sent->bytes_of_one, sent->shape, received->shape);
    int sources[most_peers], destinations[most_peers], in[most_peers], out[most_peers];
    neighbours_of(group, sources, destinations);
    const int alike = (int)below(&s->all, most_units + 1);
    const int has_lengths = kind >= lengths_to_all;
    // To all neighbours goes what the sender alone decides.
    for (int i = 0; i < group->sources; ++i)
        in[i] =
            !has_lengths ? alike : units_between(s, sources[i], kind == lengths_to_all ? 99 : group->rank);
    for (int i = 0; i < group->destinations; ++i)
        out[i] = has_lengths ? units_between(s, group->rank, destinations[i]) : alike;
    const int own = kind == lengths_to_all ? units_between(s, group->rank, 99) : alike;
    c.send_count = count_of_units(sent, own);
    c.receive_count = count_of_units(received, alike);
    c.send_type = sent->handle;
    c.receive_type = received->handle;
    Blocks sends = {0}, receives = {0};
    if (kind == types_to_each) {
        sends = blocks_of_types(s, of_send, &s->send, group->destinations, out);
        receives = blocks_of_types(s, of_receive, &s->receive, group->sources, in);
    } else if (has_lengths) {
        if (kind == lengths_to_each)
            sends = blocks_of_type(s, of_send, &s->send, sent, group->destinations, out);
        if (kind == lengths_to_all) fill(&s->send, &s->mine, sent, c.send_count);
        receives = blocks_of_type(s, of_receive, &s->receive, received, group->sources, in);
    } else {
        fill(&s->send, &s->mine, sent, (long)c.send_count * (kind == to_each ? group->destinations : 1));
        fill(&s->receive, &s->mine, received, (long)c.receive_count * group->sources);
    }
    c.send_counts = sends.counts;
    c.send_places = sends.places;
    c.large_send_counts = sends.large_counts;
    c.large_send_places = sends.large_places;
    c.send_types = sends.types;
    c.receive_counts = receives.counts;
    c.receive_places = receives.places;
    c.large_receive_counts = receives.large_counts;
    c.large_receive_places = receives.large_places;
    c.receive_types = receives.types;
    for (int by = tried; by <= native; ++by) {
        c.send[by] = s->send.origin[by];
        c.receive[by] = s->receive.origin[by];
    }
    if (!call_both(s, &c, collectives[kind].call)) return;
    same_bytes(s, &s->send, "send buffer");
    same_bytes(s, &s->receive, "receive buffer");
}
