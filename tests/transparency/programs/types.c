// SPDX-License-Identifier: Apache-2.0
// Datatypes of every constructor, with gaps, other bounds and negative steps. All but two have four elements,
// so that a message may be of one type here and of another there.
#include <string.h>

#include "sequence.h"

static Type finished(MPI_Datatype handle, const char* shape, int bytes, const MPI_Aint places[]) {
    Type made = {.handle = handle, .shape = shape, .elements = elements_of_a_type, .bytes_of_one = bytes};
    memcpy(made.places, places, sizeof made.places);
    MPI_Aint lower, true_extent;
    PMPI_Type_commit(&made.handle);
    PMPI_Type_get_extent(handle, &lower, &made.extent);
    PMPI_Type_get_true_extent(handle, &made.true_from, &true_extent);
    made.true_to = made.true_from + true_extent;
    return made;
}

static MPI_Datatype resized(MPI_Datatype of, MPI_Aint lower, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Type_create_resized(of, lower, extent, &made);
    MPI_Type_free(&of);
    return made;
}

static MPI_Datatype contiguous(int count, MPI_Datatype of) {
    MPI_Datatype made;
    MPI_Type_contiguous(count, of, &made);
    return made;
}

static MPI_Datatype placed(const MPI_Aint places[], MPI_Datatype of) {
    MPI_Datatype made;
    MPI_Type_create_hindexed(elements_of_a_type, (int[]){1, 1, 1, 1}, places, of, &made);
    return made;
}

static void with_gaps(TypeSet* set, Random* random, MPI_Datatype of, MPI_Aint b) {
    MPI_Datatype made;
    const MPI_Aint more = 1 + (MPI_Aint)below(random, 4);
    MPI_Type_vector(4, 1, 1 + (int)more, of, &made);
    set->types[set->count++] = finished(
        made, "vector", (int)b, (MPI_Aint[]){0, (1 + more) * b, 2 * (1 + more) * b, 3 * (1 + more) * b});
    set->types[set->count++] = finished(resized(contiguous(4, of), 0, (4 + more) * b), "gap behind", (int)b,
                                        (MPI_Aint[]){0, b, 2 * b, 3 * b});
    MPI_Type_create_subarray(2, (int[]){3, 3}, (int[]){2, 2}, (int[]){(int)more % 2, 1}, MPI_ORDER_C, of,
                             &made);
    const MPI_Aint first = (more % 2 * 3 + 1) * b;
    set->types[set->count++] =
        finished(made, "subarray", (int)b, (MPI_Aint[]){first, first + b, first + 3 * b, first + 4 * b});
    MPI_Type_create_struct(3, (int[]){2, 1, 1}, (MPI_Aint[]){0, 3 * b, (4 + more) * b},
                           (MPI_Datatype[]){of, of, of}, &made);
    set->types[set->count++] = finished(made, "struct", (int)b, (MPI_Aint[]){0, b, 3 * b, (4 + more) * b});
    MPI_Type_indexed(3, (int[]){1, 0, 3}, (int[]){0, 7, 1 + (int)more}, of, &made);
    set->types[set->count++] =
        finished(made, "indexed", (int)b, (MPI_Aint[]){0, (1 + more) * b, (2 + more) * b, (3 + more) * b});
}

static void with_other_bounds(TypeSet* set, Random* random, MPI_Datatype of, MPI_Aint b) {
    const MPI_Aint more = (MPI_Aint)below(random, 4);
    set->types[set->count++] = finished(resized(contiguous(4, of), -2 * b, (6 + more) * b),
                                        "lower bound below", (int)b, (MPI_Aint[]){0, b, 2 * b, 3 * b});
    const MPI_Aint above[] = {(1 + more) * b, (2 + more) * b, (4 + more) * b, (5 + more) * b};
    set->types[set->count++] = finished(placed(above, of), "lower bound above", (int)b, above);
    const MPI_Aint permuted[] = {6 * b, 0, 2 * b, 4 * b};
    set->types[set->count++] = finished(placed(permuted, of), "permuted", (int)b, permuted);
    const MPI_Aint negative[] = {-4 * b, -2 * b, b, 3 * b};
    set->types[set->count++] = finished(placed(negative, of), "negative places", (int)b, negative);
    set->types[set->count++] = finished(resized(contiguous(4, of), 0, -(4 + more) * b), "negative extent",
                                        (int)b, (MPI_Aint[]){0, b, 2 * b, 3 * b});
    const MPI_Aint stride = 256 * b;
    MPI_Datatype column;
    MPI_Type_vector(4, 1, 256, of, &column);
    Type made =
        finished(resized(column, 0, b), "column", (int)b, (MPI_Aint[]){0, stride, 2 * stride, 3 * stride});
    made.is_interleaved = 1;
    set->types[set->count++] = made;
}

static void make_set(TypeSet* set, Random* random, MPI_Datatype of) {
    int bytes;
    MPI_Type_size(of, &bytes);
    set->count = 0;
    // First the plain ones, which calls of many elements take, then one without any.
    Type one = {.shape = "predefined", .handle = of, .elements = 1, .bytes_of_one = bytes};
    one.extent = one.true_to = bytes;
    set->types[set->count++] = one;
    set->types[set->count++] =
        finished(contiguous(4, of), "contiguous", bytes, (MPI_Aint[]){0, bytes, 2 * bytes, 3 * bytes});
    Type empty = finished(contiguous(0, of), "empty", bytes, (MPI_Aint[elements_of_a_type]){0});
    empty.elements = 0;
    set->types[set->count++] = empty;
    with_gaps(set, random, of, bytes);
    with_other_bounds(set, random, of, bytes);
}

void make_types(Sequence* s) {
    const MPI_Datatype of[] = {MPI_INT,     MPI_CHAR, MPI_DOUBLE,  MPI_SHORT, MPI_BYTE, MPI_FLOAT,
                               MPI_INT64_T, MPI_INT,  MPI_UINT8_T, MPI_LONG,  MPI_INT,  MPI_DOUBLE};
    make_set(&s->moved, &s->all, of[below(&s->all, sizeof of / sizeof of[0])]);
    make_set(&s->reduced, &s->all, MPI_UNSIGNED);
}

void free_types(Sequence* s) {
    TypeSet* const sets[] = {&s->moved, &s->reduced};
    for (int i = 0; i < 2; ++i) {
        for (int j = 1; j < sets[i]->count; ++j) MPI_Type_free(&sets[i]->types[j].handle);
        sets[i]->count = 0;
    }
}

static int is_left_out(const Type* type) {
    return (type->extent < 0 && !has_negative_extents) || (type->is_interleaved && !has_interleaved);
}

const Type* any_type(const TypeSet* set, Random* random, int empty) {
    if (empty && has_empty) return &set->types[2];
    const Type* type;
    do {
        const unsigned drawn = below(random, (unsigned)set->count - 1);
        type = &set->types[drawn < 2 ? drawn : drawn + 1];
    } while (is_left_out(type));
    return type;
}
