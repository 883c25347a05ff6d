// SPDX-License-Identifier: Apache-2.0
// Reductions and scans, with any op on any datatype that it is defined for.
#include <string.h>

#include "families.h"
#include "lengths.h"
#include "ops.h"

#define TO_ALL (c->send[by], c->receive[by], c->receive_count, c->receive_type, c->op, c->group->comm)

COLLECTIVE(reduce, Reduce, reduce,
           (c->send[by], c->receive[by], c->receive_count, c->receive_type, c->op, c->root.argument,
            c->group->comm),
           (c->send[by], c->receive[by], c->receive_count, c->receive_type, c->op, c->root.argument,
            c->group->comm))
COLLECTIVE(allreduce, Allreduce, allreduce, TO_ALL, TO_ALL)
COLLECTIVE(scan, Scan, scan, TO_ALL, TO_ALL)
COLLECTIVE(exscan, Exscan, exscan, TO_ALL, TO_ALL)
COLLECTIVE(reduce_scatter_block, Reduce_scatter_block, reduce_scatter_block, TO_ALL, TO_ALL)
COLLECTIVE(reduce_scatter, Reduce_scatter, reduce_scatter,
           (c->send[by], c->receive[by], c->receive_counts, c->receive_type, c->op, c->group->comm),
           (c->send[by], c->receive[by], c->large_receive_counts, c->receive_type, c->op, c->group->comm))

typedef enum { to_root, to_all, in_blocks, in_lengths, inclusive, exclusive } Kind;

static const struct {
    const char* name;
    Collective* call;
} collectives[] = {[to_root] = {"reduce", reduce},
                   [to_all] = {"allreduce", allreduce},
                   [in_blocks] = {"reduce_scatter_block", reduce_scatter_block},
                   [in_lengths] = {"reduce_scatter", reduce_scatter},
                   [inclusive] = {"scan", scan},
                   [exclusive] = {"exscan", exscan}};

// Elements that each rank gives, and those that this rank gets. Both groups of an intercommunicator give as
// many.
static long given(Sequence* s, Call* c, Kind kind, int is_large) {
    static const int few[] = {0, 1, 1, 2, 3, 4, 5, 7, 8, 11};
    const Group* const group = c->group;
    const unsigned drawn = below(&s->all, sizeof few / sizeof few[0]);
    const unsigned many = 1 + below(&s->all, 4000 / (unsigned)(group->size * group->peers));
    const int count = is_large ? (int)many : few[drawn];
    c->receive_count = count;
    if (kind == in_blocks) {
        if (group->is_inter) c->receive_count = count * group->peers;
        return (long)c->receive_count * group->size;
    }
    if (kind != in_lengths) return count;
    const int both = group->size + group->peers;
    long left = (long)count * both;
    Random lengths = {hash_of(s->seed, (uint64_t)s->number, 500 + (uint64_t)group->side)};
    const Blocks blocks = blocks_for(s, of_receive, group->size);
    for (int i = 0; i < group->size; ++i) {
        const int is_last = i == group->size - 1;
        blocks.counts[i] = is_last ? (int)left : (int)below(&lengths, (unsigned)left + 1) / 2;
        blocks.large_counts[i] = blocks.counts[i];
        left -= blocks.counts[i];
    }
    c->receive_counts = blocks.counts;
    c->large_receive_counts = blocks.large_counts;
    c->receive_count = blocks.counts[group->rank];
    return (long)count * both;
}

// What a result leaves undefined is not compared.
static void forget(Pair* pair, const Type* type, long first, long end) {
    if (first >= end) return;
    ptrdiff_t from, to, from_before, to_before;
    span_of(type, end, &from, &to);
    span_of(type, first, &from_before, &to_before);
    if (type->extent < 0)
        to = first > 0 ? from_before : to;
    else
        from = first > 0 ? to_before : from;
    memcpy(pair->origin[tried] + from, pair->origin[native] + from, (size_t)(to - from));
}

// Takes the bytes that are no data from the native result.
static void forget_gaps(Pair* pair, const Type* type, long elements) {
    static char whole[1 << 20], packed[1 << 20];
    MPI_Aint lower, extent;
    ptrdiff_t from, to;
    int packed_bytes = 0, at = 0;
    PMPI_Type_get_extent(type->handle, &lower, &extent);
    span_of(type, elements, &from, &to);
    if (from > lower) from = lower;
    if (to < lower + elements * extent) to = lower + elements * extent;
    memcpy(whole, pair->origin[native] + from, (size_t)(to - from));
    PMPI_Pack(pair->origin[tried], (int)elements, type->handle, packed, sizeof packed, &packed_bytes,
              MPI_COMM_SELF);
    PMPI_Unpack(packed, packed_bytes, &at, whole - from, (int)elements, type->handle, MPI_COMM_SELF);
    memcpy(pair->origin[tried] + from, whole, (size_t)(to - from));
}

// What MPICH 5.0.2 and what is made of it do wrong without any library of ours. They write past the end of
// their own memory where an extent is negative, and in what is reduced and scattered by an op whose order
// counts where the extent is not the true extent. Within a node they reduce wrongly, by an op whose order
// does not count, what does not begin at its origin or lies among its neighbours. Intel MPI 2021.18 writes
// behind the end of the receive buffer where a lower bound is below the origin. Open MPI 5.0.11 corrupts its
// heap where an element is not as long as its extent.
static int is_wrong_natively(Kind kind, const Reduced* reduced) {
#if defined(I_MPI_VERSION)
    MPI_Aint lower, extent;
    PMPI_Type_get_extent(reduced->type->handle, &lower, &extent);
    if (lower < 0) return 1;
#endif
#if defined(MPICH_VERSION) || defined(MPICH_NUMVERSION)
    const Type* const type = reduced->type;
    if (type->extent < 0) return 1;
    if (!reduced->is_ordered) return type->true_from != 0 || type->is_interleaved;
    return (kind == in_blocks || kind == in_lengths) &&
           (type->true_from != 0 || type->true_to != type->extent);
#elif defined(OPEN_MPI)
    const Type* const type = reduced->type;
    (void)kind;
    return type->true_from != 0 || type->true_to != type->extent || type->is_interleaved;
#else
    (void)kind;
    (void)reduced;
    return 0;
#endif
}

void reduce_once(Sequence* s) {
    const Group* const group = any_group(s);
    const Kind kind = (Kind)below(&s->all, group->is_inter ? 4 : 6);
    Call c = {.form = any_form(&s->all), .group = group, .root = any_root(&s->all, group)};
    Reduced reduced = any_reduced(s);
    const int is_large = one_in(&s->all, 64);
    const long elements = given(s, &c, kind, is_large);
    if (reduced.type->is_interleaved && elements > 250) reduced.type = &s->reduced.types[1];
    const int place = one_in(&s->all, 3) && !group->is_inter;
    const int is_in_place = place && (kind != to_root || c.root.is_here);
    const int is_scatter = kind == in_blocks || kind == in_lengths;
    if (is_scatter && is_in_place && reduced.type->is_interleaved) reduced.type = &s->reduced.types[1];
    if (is_wrong_natively(kind, &reduced)) reduced.type = &s->reduced.types[1];
    describe(s, "%s, %s, on %s, %ld elements, %s, by %s%s, root %d", collectives[kind].name, name_of(c.form),
             group->name, elements, reduced.type->shape, reduced.name, is_in_place ? ", in place" : "",
             c.root.argument);
    const int is_wide = is_large || elements > 250;
    Pair *const send = is_wide ? &s->large_send : &s->send, *const receive =
                                                                is_wide ? &s->large_receive : &s->receive;
    fill_reduced(s, send, &reduced, elements);
    fill_reduced(s, receive, &reduced, elements);
    c.receive_type = reduced.type->handle;
    c.op = reduced.op;
    const int has_result = kind != to_root || c.root.is_here;
    const int is_left_out = !has_result && one_in(&s->mine, 2);
    for (int by = tried; by <= native; ++by) {
        c.send[by] = is_in_place ? MPI_IN_PLACE : send->origin[by];
        c.receive[by] = is_left_out ? NULL : receive->origin[by];
    }
    if (is_in_place && group->is_inter) return;
    expect_ops(&reduced, elements);
    const int code = collectives[kind].call(s, &c, tried);
    if (fault_of_ops()[0]) differs(s, "%s", fault_of_ops());
    expect_ops(&reduced, elements);
    const int native_code = collectives[kind].call(s, &c, native);
    if (fault_of_ops()[0]) describe(s, "%s (natively too: %s)", collectives[kind].name, fault_of_ops());
    same_codes(s, code, native_code);
    if (native_code != MPI_SUCCESS) return;
    if (kind == exclusive && group->rank == 0) forget(receive, reduced.type, 0, elements);
    if (is_scatter && is_in_place) forget(receive, reduced.type, c.receive_count, elements);
    if (has_written_gaps) forget_gaps(receive, reduced.type, elements);
    same_bytes(s, send, "send buffer");
    same_bytes(s, receive, "receive buffer");
}
