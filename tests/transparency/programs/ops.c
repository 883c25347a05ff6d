// SPDX-License-Identifier: Apache-2.0
#include "ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "families.h"

// What the call that is being made reduces. Ops run within it.
static Reduced expected;
static long most_expected;
static char fault[128];

void expect_ops(const Reduced* reduced, long most_elements) {
    expected = *reduced;
    most_expected = most_elements;
    fault[0] = 0;
}

const char* fault_of_ops(void) {
    return fault;
}

static int is_as_expected(long count, MPI_Datatype type) {
    if (count > most_expected)
        snprintf(fault, sizeof fault, "%s was given %ld elements of %ld", expected.name, count,
                 most_expected);
    if (type != expected.type->handle)
        snprintf(fault, sizeof fault, "%s was given another datatype", expected.name);
    return type == expected.type->handle;
}

static unsigned* at(void* begin, long element, int place) {
    return (unsigned*)((char*)begin + element * expected.type->extent + expected.type->places[place]);
}

// 2x2 matrices of numbers modulo 2^32: the order counts.
static void multiply(void* in, void* inout, int* count, MPI_Datatype* type) {
    if (!is_as_expected(*count, *type)) return;
    for (long i = 0; i < *count; ++i) {
        unsigned x[4], y[4];
        for (int k = 0; k < 4; ++k) x[k] = *at(in, i, k), y[k] = *at(inout, i, k);
        for (int k = 0; k < 4; ++k) *at(inout, i, k) = x[k & 2] * y[k & 1] + x[(k & 2) + 1] * y[2 + (k & 1)];
    }
}

static void keep_first(void* in, void* inout, int* count, MPI_Datatype* type) {
    if (!is_as_expected(*count, *type)) return;
    for (long i = 0; i < *count; ++i)
        for (int k = 0; k < expected.type->elements; ++k) *at(inout, i, k) = *at(in, i, k);
}

static void take_greater(void* in, void* inout, long count, MPI_Datatype type) {
    if (!is_as_expected(count, type)) return;
    for (long i = 0; i < count; ++i)
        for (int k = 0; k < expected.type->elements; ++k)
            if (*at(in, i, k) > *at(inout, i, k)) *at(inout, i, k) = *at(in, i, k);
}

static void greater(void* in, void* inout, int* count, MPI_Datatype* type) {
    take_greater(in, inout, *count, *type);
}

#if HAS_LARGE_COUNTS
static void greater_large(void* in, void* inout, MPI_Count* count, MPI_Datatype* type) {
    take_greater(in, inout, (long)*count, *type);
}
#endif

static MPI_Op multiply_op, first_op, greater_op, greater_large_op;

void make_ops(void) {
    MPI_Op_create(multiply, 0, &multiply_op);
    MPI_Op_create(keep_first, 0, &first_op);
    MPI_Op_create(greater, 1, &greater_op);
#if HAS_LARGE_COUNTS
    MPI_Op_create_c(greater_large, 1, &greater_large_op);
#else
    MPI_Op_create(greater, 1, &greater_large_op);
#endif
}

void free_ops(void) {
    MPI_Op* const all[] = {&multiply_op, &first_op, &greater_op, &greater_large_op};
    for (int i = 0; i < 4; ++i) MPI_Op_free(all[i]);
}

typedef enum { integer, floating, complex_number, bytes_only, truth, with_index } Kind;

static const struct {
    MPI_Datatype handle;
    const char* name;
    Kind kind;
    int bytes, value_bytes;  // of the number in front where it has an index
} predefined[] = {
#define P(handle, kind, bytes, value_bytes) {handle, #handle, kind, bytes, value_bytes}
    P(MPI_INT, integer, 4, 4),
    P(MPI_UNSIGNED, integer, 4, 4),
    P(MPI_LONG, integer, 8, 8),
    P(MPI_SHORT, integer, 2, 2),
    P(MPI_UINT8_T, integer, 1, 1),
    P(MPI_INT8_T, integer, 1, 1),
    P(MPI_INT64_T, integer, 8, 8),
    P(MPI_UNSIGNED_LONG_LONG, integer, 8, 8),
    P(MPI_FLOAT, floating, 4, 4),
    P(MPI_DOUBLE, floating, 8, 8),
    P(MPI_C_FLOAT_COMPLEX, complex_number, 8, 4),
    P(MPI_C_DOUBLE_COMPLEX, complex_number, 16, 8),
    P(MPI_BYTE, bytes_only, 1, 1),
    P(MPI_C_BOOL, truth, 1, 1),
    P(MPI_FLOAT_INT, with_index, 8, 4),
    P(MPI_DOUBLE_INT, with_index, 16, 8),
    P(MPI_LONG_INT, with_index, 16, 8),
    P(MPI_SHORT_INT, with_index, 8, 2),
    P(MPI_2INT, with_index, 8, 4),
#undef P
};
enum { predefined_count = sizeof predefined / sizeof predefined[0] };

static const struct {
    MPI_Op op;
    const char* name;
    unsigned kinds;  // 1 << Kind
} ops[] = {{MPI_MAX, "MAX", 1 << integer | 1 << floating},
           {MPI_MIN, "MIN", 1 << integer | 1 << floating},
           {MPI_SUM, "SUM", 1 << integer | 1 << floating | 1 << complex_number},
           {MPI_PROD, "PROD", 1 << integer | 1 << floating | 1 << complex_number},
           {MPI_LAND, "LAND", 1 << integer | 1 << truth},
           {MPI_LOR, "LOR", 1 << integer | 1 << truth},
           {MPI_LXOR, "LXOR", 1 << integer | 1 << truth},
           {MPI_BAND, "BAND", 1 << integer | 1 << bytes_only},
           {MPI_BOR, "BOR", 1 << integer | 1 << bytes_only},
           {MPI_BXOR, "BXOR", 1 << integer | 1 << bytes_only},
           {MPI_MAXLOC, "MAXLOC", 1 << with_index},
           {MPI_MINLOC, "MINLOC", 1 << with_index}};

static Type type_of_predefined;
static int drawn_type;  // of `predefined`

Reduced any_reduced(Sequence* s) {
    static char name[64];
    const unsigned drawn = below(&s->all, 8);
    if (drawn < 4) {
        const int is_multiply = drawn < 2;
        const Type* type = any_type(&s->reduced, &s->all, !is_multiply && one_in(&s->all, 60));
        if (is_multiply && type->elements == 1) type = &s->reduced.types[1];
        if (is_multiply) return (Reduced){multiply_op, "the matrix product", type, 1, 1};
        if (drawn == 2) return (Reduced){first_op, "the first", type, 1, 1};
        return (Reduced){one_in(&s->all, 2) ? greater_op : greater_large_op, "the greater", type, 1, 0};
    }
    drawn_type = (int)below(&s->all, predefined_count);
    unsigned op;
    do op = below(&s->all, sizeof ops / sizeof ops[0]);
    while (!(ops[op].kinds & 1u << predefined[drawn_type].kind));
    snprintf(name, sizeof name, "MPI_%s", ops[op].name);
    type_of_predefined = (Type){.handle = predefined[drawn_type].handle,
                                .shape = predefined[drawn_type].name,
                                .elements = 1,
                                .bytes_of_one = predefined[drawn_type].bytes,
                                .extent = predefined[drawn_type].bytes,
                                .true_to = predefined[drawn_type].bytes};
    return (Reduced){ops[op].op, name, &type_of_predefined, 0, 0};
}

static void write_integer(char* at, int bytes, long value) {
    memcpy(at, &value, (size_t)bytes);  // little endian
}

static void write_floating(char* at, int bytes, long value) {
    const float single = (float)value;
    const double twice = (double)value;
    memcpy(at, bytes == 4 ? (const void*)&single : &twice, (size_t)bytes);
}

// Sums and products stay below 128 with 16 ranks; numbers with an index are often equal.
static void write_element(Sequence* s, char* begin, Kind kind, int bytes, int value_bytes, int is_product) {
    const long value = is_product ? 1 + (s->rank < 6 && one_in(&s->mine, 2)) : (long)below(&s->mine, 4);
    const int is_floating_pair =
        predefined[drawn_type].handle == MPI_FLOAT_INT || predefined[drawn_type].handle == MPI_DOUBLE_INT;
    switch (kind) {
        case floating:
            write_floating(begin, bytes, value);
            return;
        case complex_number:
            write_floating(begin, value_bytes, value);
            write_floating(begin + value_bytes, value_bytes, is_product ? 0 : value + 1);
            return;
        case with_index:
            (is_floating_pair ? write_floating : write_integer)(begin, value_bytes, value);
            write_integer(begin + (value_bytes < 4 ? 4 : value_bytes), 4, (long)below(&s->mine, 100));
            return;
        case truth:
            write_integer(begin, bytes, value & 1);
            return;
        default:
            write_integer(begin, bytes, value);
    }
}

void fill_reduced(Sequence* s, Pair* pair, const Reduced* reduced, long count) {
    fill(pair, &s->mine, reduced->type, count);
    if (reduced->is_of_program) return;
    const Kind kind = predefined[drawn_type].kind;
    const MPI_Op op = reduced->op;
    // Any bits are as good as others.
    const int is_of_bits = op == MPI_BAND || op == MPI_BOR || op == MPI_BXOR ||
                           (kind == integer && (op == MPI_MAX || op == MPI_MIN));
    if (is_of_bits) return;
    for (long i = 0; i < count; ++i) {
        const ptrdiff_t at = i * reduced->type->extent;
        write_element(s, pair->origin[tried] + at, kind, predefined[drawn_type].bytes,
                      predefined[drawn_type].value_bytes, op == MPI_PROD);
        memcpy(pair->origin[native] + at, pair->origin[tried] + at, (size_t)reduced->type->extent);
    }
}
