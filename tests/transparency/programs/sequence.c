// SPDX-License-Identifier: Apache-2.0
#include "sequence.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { calls_of_an_epoch = 1000, calls_between_looks = 64, most_lines = 5, page = 4096 };
enum { longest_s = 120 };  // of a few calls, before the process ends itself
enum { room_of_small = 32 << 10, room_of_large = 640 << 10, surroundings = 64 };

static Pair new_pair(size_t room) {
    Pair made = {.room = room};
    for (int by = tried; by <= native; ++by) {
        char* const begin = calloc(1, 2 * room);
        made.origin[by] = begin + room;
    }
    return made;
}

void begin_sequence(Sequence* s, MPI_Comm world) {
    s->world = world;
    s->epoch = -1;
    s->request = MPI_REQUEST_NULL;
    PMPI_Comm_rank(world, &s->rank);
    PMPI_Comm_size(world, &s->size);
    s->send = new_pair(room_of_small);
    s->receive = new_pair(room_of_small);
    s->large_send = new_pair(room_of_large);
    s->large_receive = new_pair(room_of_large);
    for (int i = 0; i < guarded_arrays; ++i) {
        s->guarded[i] = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(s->guarded[i] + page, page, PROT_NONE);
    }
}

void end_sequence(Sequence* s) {
    free_types(s);
    free_groups(s);
    Pair* const pairs[] = {&s->send, &s->receive, &s->large_send, &s->large_receive};
    for (int i = 0; i < 4; ++i)
        for (int by = tried; by <= native; ++by) free(pairs[i]->origin[by] - pairs[i]->room);
    for (int i = 0; i < guarded_arrays; ++i) munmap(s->guarded[i], 2 * page);
}

void need(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    char words[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    PMPI_Error_string(code, words, &length);
    printf("crashed: %s: %s\n", what, words);
    fflush(stdout);
    abort();
}

// All ranks stop at the same call.
static int is_time_over(Sequence* s) {
    if (s->begun_s == 0) s->begun_s = PMPI_Wtime();
    int is_over = PMPI_Wtime() - s->begun_s > s->seconds;
    PMPI_Bcast(&is_over, 1, MPI_INT, 0, s->world);
    return is_over;
}

int next_call(Sequence* s, long calls) {
    if (s->calls % calls_between_looks == 0) alarm(longest_s);
    if (s->seconds > 0 && s->calls % calls_between_looks == 0 && is_time_over(s)) return 0;
    if (calls > 0 && s->calls >= calls) return 0;
    if (s->calls > 0) ++s->number;
    ++s->calls;
    if (s->number / calls_of_an_epoch != s->epoch) {
        if (s->epoch >= 0) free_types(s);
        s->epoch = s->number / calls_of_an_epoch;
        s->all.state = hash_of(s->seed, (uint64_t)s->epoch, 1u << 30);
        make_types(s);
    }
    s->all.state = hash_of(s->seed, (uint64_t)s->number, 0);
    s->mine.state = hash_of(s->seed, (uint64_t)s->number, 1 + (uint64_t)s->rank);
    return 1;
}

void describe(Sequence* s, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(s->what, sizeof s->what, format, arguments);
    va_end(arguments);
}

void differs(Sequence* s, const char* format, ...) {
    if (++s->wrong > most_lines) return;
    char why[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    printf("different: %s, seed %llu, call %ld, rank %d of %d: %s: %s\n", s->family,
           (unsigned long long)s->seed, s->number, s->rank, s->size, s->what, why);
    fflush(stdout);
}

void same_codes(Sequence* s, int code, int native_code) {
    int class_here = code, class_native = native_code;
    if (code == native_code) return;
    PMPI_Error_class(code, &class_here);
    PMPI_Error_class(native_code, &class_native);
    if (class_here != class_native) differs(s, "error class %d instead of %d", class_here, class_native);
}

void same_numbers(Sequence* s, const char* what, long got, long expected) {
    if (got != expected) differs(s, "%s: %ld instead of %ld", what, got, expected);
}

void* guarded(Sequence* s, int which, size_t bytes) {
    return s->guarded[which] + page - bytes;
}

void span_of(const Type* type, long count, ptrdiff_t* from, ptrdiff_t* to) {
    *from = *to = 0;
    if (count <= 0 || type->elements == 0) return;
    const ptrdiff_t last = (count - 1) * type->extent;
    *from = type->true_from + (last < 0 ? last : 0);
    *to = type->true_to + (last > 0 ? last : 0);
}

void fill_bytes(Pair* pair, Random* random, ptrdiff_t from, ptrdiff_t to) {
    from = (from & ~(ptrdiff_t)7) - surroundings;
    to = ((to + 7) & ~(ptrdiff_t)7) + surroundings;
    if (-from > (ptrdiff_t)pair->room || to > (ptrdiff_t)pair->room) {
        fprintf(stderr, "transparency: a buffer from %td to %td has no room\n", from, to);
        abort();
    }
    pair->from = from;
    pair->to = to;
    uint64_t bits = next_bits(random);
    for (ptrdiff_t at = from; at < to; at += 8) {
        bits = bits * 6364136223846793005u + 1442695040888963407u;
        const uint64_t drawn = bits ^ (bits >> 33);
        memcpy(pair->origin[tried] + at, &drawn, 8);
    }
    memcpy(pair->origin[native] + from, pair->origin[tried] + from, (size_t)(to - from));
}

void fill(Pair* pair, Random* random, const Type* type, long count) {
    ptrdiff_t from, to;
    span_of(type, count, &from, &to);
    fill_bytes(pair, random, from, to);
}

void same_bytes(Sequence* s, const Pair* pair, const char* which) {
    const char *got = pair->origin[tried] + pair->from, *expected = pair->origin[native] + pair->from;
    const size_t bytes = (size_t)(pair->to - pair->from);
    if (memcmp(got, expected, bytes) == 0) return;
    size_t at = 0, many = 0;
    for (size_t i = bytes; i-- > 0;)
        if (got[i] != expected[i]) at = i, ++many;
    differs(s, "%s: %zu bytes, the first %td from the origin: %02x instead of %02x", which, many,
            (ptrdiff_t)at + pair->from, (unsigned char)got[at], (unsigned char)expected[at]);
}
