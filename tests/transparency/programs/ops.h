// SPDX-License-Identifier: Apache-2.0
// What is reduced by what: predefined datatypes with the ops that MPI defines for them, and ops of the
// program.
#pragma once

#include "sequence.h"

typedef struct {
    MPI_Op op;
    const char* name;
    const Type* type;
    int is_of_program, is_ordered;
} Reduced;

Reduced any_reduced(Sequence* sequence);
// So many elements, which the op bears and whose result does not depend on the order in which numbers are
// added.
void fill_reduced(Sequence* sequence, Pair* pair, const Reduced* reduced, long count);
// Ops of the program must not be given more elements than this, nor another datatype.
void expect_ops(const Reduced* reduced, long most_elements);
// What they were given otherwise; "": nothing.
const char* fault_of_ops(void);
