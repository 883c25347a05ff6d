// SPDX-License-Identifier: Apache-2.0
#include "collective.h"

static const char* const names[] = {"blocking", "nonblocking",       "persistent",
                                    "large",    "nonblocking large", "persistent large"};

const char* name_of(Form form) {
    return names[form];
}

// Blocking forms are the ones that are replaced.
Form any_form(Random* random) {
    const unsigned drawn = below(random, 20);
    if (drawn < 11) return blocking;
    if (drawn < 13) return nonblocking;
    if (drawn < 14) return HAS_MPI_4 ? persistent : blocking;
    if (drawn < 18) return HAS_LARGE_COUNTS ? large : blocking;
    if (drawn < 19) return HAS_LARGE_COUNTS ? nonblocking_large : nonblocking;
    return HAS_LARGE_COUNTS ? persistent_large : blocking;
}

Root any_root(Random* random, const Group* group) {
    const unsigned side = below(random, 2), drawn = below(random, 64);
    if (!group->is_inter) {
        const int root = (int)drawn % group->size;
        return (Root){root, root == group->rank, 1};
    }
    if ((int)side != group->side) return (Root){(int)drawn % group->peers, 0, 1};
    const int is_here = group->rank == (int)drawn % group->size;
    return (Root){is_here ? MPI_ROOT : MPI_PROC_NULL, is_here, 0};
}

const Group* any_group(Sequence* s) {
    return &s->groups[below(&s->all, (unsigned)s->groups_count)];
}

int waited(Sequence* s, int by, int code) {
    if (code != MPI_SUCCESS) return code;
    if (one_in(&s->mine, 3)) {
        int is_done = 0;
        while (!is_done && code == MPI_SUCCESS)
            code = by == tried ? MPI_Test(&s->request, &is_done, MPI_STATUS_IGNORE)
                               : PMPI_Test(&s->request, &is_done, MPI_STATUS_IGNORE);
        return code;
    }
    return by == tried ? MPI_Wait(&s->request, MPI_STATUS_IGNORE) : PMPI_Wait(&s->request, MPI_STATUS_IGNORE);
}

int started(Sequence* s, int by, int code) {
    if (code != MPI_SUCCESS) return code;
    code = by == tried ? MPI_Start(&s->request) : PMPI_Start(&s->request);
    if (code == MPI_SUCCESS)
        code = by == tried ? MPI_Wait(&s->request, MPI_STATUS_IGNORE)
                           : PMPI_Wait(&s->request, MPI_STATUS_IGNORE);
    if (by == tried)
        MPI_Request_free(&s->request);
    else
        PMPI_Request_free(&s->request);
    return code;
}

int call_both(Sequence* s, const Call* call, Collective* collective) {
    const int code = collective(s, call, tried);
    const int native_code = collective(s, call, native);
    same_codes(s, code, native_code);
    return native_code == MPI_SUCCESS;
}
