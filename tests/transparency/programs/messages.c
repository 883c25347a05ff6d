// SPDX-License-Identifier: Apache-2.0
// Messages between two ranks in every mode: each rank sends to the rank so many places on, and receives from
// the one so many places before. Statuses are compared, too.
#include <string.h>

#include "families.h"
#include "lengths.h"

#define P(Name, arguments) (by == tried ? MPI_##Name arguments : PMPI_##Name arguments)

typedef struct {
    const Group* group;
    int to, from, tag, count, receive_count;
    MPI_Datatype type, receive_type;
    int any_source, any_tag, mode, partitions;
    MPI_Status status[2];
    int elements[2], flag[2];
} Message;

typedef int Exchange(Sequence* s, Message* m, int by);

static int source_of(const Message* m) {
    return m->any_source ? MPI_ANY_SOURCE : m->from;
}

static int tag_of(const Message* m) {
    return m->any_tag ? MPI_ANY_TAG : m->tag;
}

static int send_receive(Sequence* s, Message* m, int by) {
    return P(Sendrecv,
             (s->send.origin[by], m->count, m->type, m->to, m->tag, s->receive.origin[by], m->receive_count,
              m->receive_type, source_of(m), tag_of(m), m->group->comm, &m->status[by]));
}

static int replace(Sequence* s, Message* m, int by) {
    return P(Sendrecv_replace, (s->receive.origin[by], m->receive_count, m->receive_type, m->to, m->tag,
                                source_of(m), tag_of(m), m->group->comm, &m->status[by]));
}

static int start_send(Sequence* s, const Message* m, int by, MPI_Request* request) {
    const void* const data = s->send.origin[by];
    if (m->mode == 0) return P(Isend, (data, m->count, m->type, m->to, m->tag, m->group->comm, request));
    if (m->mode == 1) return P(Issend, (data, m->count, m->type, m->to, m->tag, m->group->comm, request));
    if (m->mode == 2) return P(Ibsend, (data, m->count, m->type, m->to, m->tag, m->group->comm, request));
    // The receive is there: all ranks posted theirs before the barrier.
    PMPI_Barrier(m->group->comm);
    return P(Irsend, (data, m->count, m->type, m->to, m->tag, m->group->comm, request));
}

static int without_blocking(Sequence* s, Message* m, int by) {
    MPI_Request requests[3] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    P(Irecv, (s->receive.origin[by], m->receive_count, m->receive_type, source_of(m), tag_of(m),
              m->group->comm, &requests[1]));
    start_send(s, m, by, &requests[0]);
    int code = MPI_SUCCESS;
    if (m->partitions % 3 == 0) {
        code = P(Waitall, (3, requests, statuses));
        m->status[by] = statuses[1];
        return code;
    }
    for (int done = 0, index = 0; done < 2 && code == MPI_SUCCESS; ++done) {
        if (m->partitions % 3 == 1) {
            code = P(Waitany, (3, requests, &index, statuses));
            if (index == 1) m->status[by] = statuses[0];
        } else {
            int many = 0, indices[3];
            code = P(Waitsome, (3, requests, &many, indices, statuses));
            for (int i = 0; i < many; ++i)
                if (indices[i] == 1) m->status[by] = statuses[i];
            done += many - 1;
        }
    }
    return code;
}

static int after_a_probe(Sequence* s, Message* m, int by) {
    MPI_Request request;
    MPI_Message found;
    PMPI_Isend(s->send.origin[by], m->count, m->type, m->to, m->tag, m->group->comm, &request);
    int code;
    if (m->mode % 2) {
        code = P(Mprobe, (source_of(m), tag_of(m), m->group->comm, &found, &m->status[by]));
        if (code == MPI_SUCCESS)
            code =
                P(Mrecv, (s->receive.origin[by], m->receive_count, m->receive_type, &found, &m->status[by]));
    } else {
        while (!m->flag[by])
            P(Iprobe, (source_of(m), tag_of(m), m->group->comm, &m->flag[by], &m->status[by]));
        code = P(Recv, (s->receive.origin[by], m->receive_count, m->receive_type, m->status[by].MPI_SOURCE,
                        m->status[by].MPI_TAG, m->group->comm, &m->status[by]));
    }
    PMPI_Wait(&request, MPI_STATUS_IGNORE);
    return code;
}

static int repeated(Sequence* s, Message* m, int by) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    P(Recv_init, (s->receive.origin[by], m->receive_count, m->receive_type, source_of(m), tag_of(m),
                  m->group->comm, &requests[1]));
    if (m->mode % 2)
        P(Ssend_init, (s->send.origin[by], m->count, m->type, m->to, m->tag, m->group->comm, &requests[0]));
    else
        P(Send_init, (s->send.origin[by], m->count, m->type, m->to, m->tag, m->group->comm, &requests[0]));
    int code = MPI_SUCCESS;
    for (int i = 0; i < 2 && code == MPI_SUCCESS; ++i) {
        code = P(Startall, (2, requests));
        if (code == MPI_SUCCESS) code = P(Waitall, (2, requests, statuses));
    }
    m->status[by] = statuses[1];
    for (int i = 0; i < 2; ++i) P(Request_free, (&requests[i]));
    return code;
}

static int cancelled(Sequence* s, Message* m, int by) {
    MPI_Request request;
    P(Irecv,
      (s->receive.origin[by], m->receive_count, m->receive_type, m->from, 30000, m->group->comm, &request));
    P(Cancel, (&request));
    const int code = P(Wait, (&request, &m->status[by]));
    P(Test_cancelled, (&m->status[by], &m->flag[by]));
    // What else it holds is not defined.
    m->status[by].MPI_SOURCE = m->status[by].MPI_TAG = 0;
    return code;
}

#if HAS_MPI_4
static int in_partitions(Sequence* s, Message* m, int by) {
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const int units = m->count;
    P(Psend_init, (s->send.origin[by], m->partitions, units, m->type, m->to, m->tag, m->group->comm,
                   MPI_INFO_NULL, &requests[0]));
    P(Precv_init, (s->receive.origin[by], m->partitions, units, m->type, m->from, m->tag, m->group->comm,
                   MPI_INFO_NULL, &requests[1]));
    P(Startall, (2, requests));
    for (int i = m->partitions; i-- > 0;) P(Pready, (i, requests[0]));
    while (!m->flag[by]) P(Parrived, (requests[1], 0, &m->flag[by]));
    const int code = P(Waitall, (2, requests, statuses));
    m->status[by] = (MPI_Status){0};
    for (int i = 0; i < 2; ++i) P(Request_free, (&requests[i]));
    return code;
}
#endif

static const struct {
    const char* name;
    Exchange* exchange;
} exchanges[] = {
    {"sendrecv", send_receive},     {"sendrecv_replace", replace}, {"isend and irecv", without_blocking},
    {"probe", after_a_probe},       {"persistent", repeated},      {"cancel", cancelled},
#if HAS_MPI_4
    {"partitioned", in_partitions},
#endif
};
enum { kinds = sizeof exchanges / sizeof exchanges[0] };

static void same_status(Sequence* s, Message* m) {
    for (int by = tried; by <= native; ++by)
        P(Get_elements, (&m->status[by], m->receive_type, &m->elements[by]));
    same_numbers(s, "source", m->status[tried].MPI_SOURCE, m->status[native].MPI_SOURCE);
    same_numbers(s, "tag", m->status[tried].MPI_TAG, m->status[native].MPI_TAG);
    same_numbers(s, "elements", m->elements[tried], m->elements[native]);
    same_numbers(s, "flag", m->flag[tried], m->flag[native]);
}

void exchange_once(Sequence* s) {
    const unsigned kind = below(&s->all, kinds);
    const int is_replaced = exchanges[kind].exchange == replace,
              is_cancelled = exchanges[kind].exchange == cancelled;
    const int is_partitioned = strcmp(exchanges[kind].name, "partitioned") == 0;
    const Group* const group = any_group(s);
    const int away = (int)below(&s->all, 64) % group->size;
    const int units = (int)below(&s->all, 9);
    Message m = {.group = group,
                 .to = (group->rank + away) % group->size,
                 .from = (group->rank + group->size - away) % group->size,
                 .tag = (int)(s->number % 1000),
                 .any_source = one_in(&s->all, 3),
                 .any_tag = one_in(&s->all, 3),
                 .mode = (int)below(&s->all, 4),
                 .partitions = 1 + (int)below(&s->all, 4)};
    const Type* sent = any_type(&s->moved, &s->mine, 0);
    const Type* received = any_type(&s->moved, &s->mine, 0);
    if (is_partitioned) sent = received = &s->moved.types[1];
    m.type = sent->handle;
    m.receive_type = received->handle;
    m.count = count_of_units(sent, units);
    m.receive_count = count_of_units(received, is_replaced ? units : units + (int)below(&s->mine, 3));
    describe(s, "%s, mode %d, on %s, %d x 4 elements of %d bytes, %s to %s, %d places on",
             exchanges[kind].name, m.mode, group->name, units, sent->bytes_of_one, sent->shape,
             received->shape, away);
    if (is_partitioned && away == 0) return;
    fill(&s->send, &s->mine, sent, (long)m.count * m.partitions);
    fill(&s->receive, &s->mine, received,
         (long)m.receive_count + (is_partitioned ? (long)m.count * m.partitions : 0));
    // A rank that is ahead must not send what a receive from any source could take.
    const int code = exchanges[kind].exchange(s, &m, tried);
    PMPI_Barrier(group->comm);
    const int native_code = exchanges[kind].exchange(s, &m, native);
    PMPI_Barrier(group->comm);
    same_codes(s, code, native_code);
    if (native_code != MPI_SUCCESS) return;
    if (!is_cancelled && !is_partitioned) same_status(s, &m);
    if (is_cancelled) same_numbers(s, "cancelled", m.flag[tried], m.flag[native]);
    same_bytes(s, &s->send, "send buffer");
    same_bytes(s, &s->receive, "receive buffer");
}
