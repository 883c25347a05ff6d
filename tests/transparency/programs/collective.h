// SPDX-License-Identifier: Apache-2.0
// One collective call: its arguments, and the forms in which MPI has it.
#pragma once

#include "sequence.h"

typedef enum { blocking, nonblocking, persistent, large, nonblocking_large, persistent_large } Form;

// What this rank passes as the root, and whether it has the root's buffer or a block of its own; both in an
// intracommunicator's root, neither in an intercommunicator's ranks beside the root.
typedef struct {
    int argument, is_here, has_block;
} Root;

// Buffers by tried and native. Of arrays there are those of `int`, and those of large counts with the same
// numbers.
typedef struct {
    Form form;
    const Group* group;
    Root root;
    const void* send[2];
    void* receive[2];
    int send_count, receive_count;
    MPI_Datatype send_type, receive_type;
    const int *send_counts, *send_places, *receive_counts, *receive_places;
    const MPI_Count *large_send_counts, *large_receive_counts;
    const MPI_Aint *large_send_places, *large_receive_places;
    const MPI_Datatype *send_types, *receive_types;
    MPI_Op op;
} Call;

typedef int Collective(Sequence* sequence, const Call* call, int by);

Form any_form(Random* random);
const char* name_of(Form form);
Root any_root(Random* random, const Group* group);
// A communicator of the sequence; NULL: this rank is in none of those that were drawn.
const Group* any_group(Sequence* sequence);
int in_place_or(int in_place, Call* call, const Pair* send);
// Both of them, whose error codes are compared. @return Whether there are results to compare.
int call_both(Sequence* sequence, const Call* call, Collective* collective);

int waited(Sequence* sequence, int by, int code);
int started(Sequence* sequence, int by, int code);

// Arguments in parentheses: those of `int` counts, and of large ones. Both end with the communicator, which
// nonblocking forms follow by a request, persistent ones by an info and a request.
#define BARE(...) __VA_ARGS__
#define BY(P, s, by, c, Name, name, arguments, of_large)                                                  \
    ((c)->form == nonblocking         ? waited(s, by, P##I##name(BARE arguments, &(s)->request))          \
     : (c)->form == persistent        ? started(s, by, PERSISTENT(P, s, Name, arguments))                 \
     : (c)->form == large             ? LARGE(P, Name, arguments, of_large)                               \
     : (c)->form == nonblocking_large ? waited(s, by, LARGE_I(P, s, name, arguments, of_large))           \
     : (c)->form == persistent_large  ? started(s, by, LARGE_PERSISTENT(P, s, Name, arguments, of_large)) \
                                      : P##Name arguments)
#if HAS_MPI_4
#define PERSISTENT(P, s, Name, arguments) P##Name##_init(BARE arguments, MPI_INFO_NULL, &(s)->request)
#else
#define PERSISTENT(P, s, Name, arguments) MPI_ERR_OTHER
#endif
#if HAS_LARGE_COUNTS
#define LARGE(P, Name, arguments, of_large) P##Name##_c of_large
#define LARGE_I(P, s, name, arguments, of_large) P##I##name##_c(BARE of_large, &(s)->request)
#define LARGE_PERSISTENT(P, s, Name, arguments, of_large) \
    P##Name##_init_c(BARE of_large, MPI_INFO_NULL, &(s)->request)
#else
#define LARGE(P, Name, arguments, of_large) MPI_ERR_OTHER
#define LARGE_I(P, s, name, arguments, of_large) MPI_ERR_OTHER
#define LARGE_PERSISTENT(P, s, Name, arguments, of_large) MPI_ERR_OTHER
#endif
// A Collective that makes the call in the form that is asked for.
#define COLLECTIVE(function, Name, name, arguments, of_large)                      \
    static int function(Sequence* s, const Call* c, int by) {                      \
        return by == tried ? BY(MPI_, s, by, c, Name, name, arguments, of_large)   \
                           : BY(PMPI_, s, by, c, Name, name, arguments, of_large); \
    }
