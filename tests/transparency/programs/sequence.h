// SPDX-License-Identifier: Apache-2.0
// One sequence of random calls: what it draws its numbers from, what it calls with, and what it found. A
// process has one, or one a thread.
#pragma once

#include <mpi.h>
#include <stddef.h>

#include "random.h"

#if MPI_VERSION >= 4
#define HAS_LARGE_COUNTS 1
#else
#define HAS_LARGE_COUNTS 0
#endif
// Open MPI 5 has what MPI 4 brought, but for large counts, and calls itself 3.1.
#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)
#define HAS_MPI_4 1
#else
#define HAS_MPI_4 0
#endif

// What a library does wrong natively is left out (docs/results/transparency.md): datatypes without elements,
// whose extent is negative, whose elements lie among each other, or that are sent in another count than
// received by MPI_Allgather; between groups, long messages to a root and broadcasts that are not blocking.
// Where reductions write into gaps, as one likes, gaps are not compared.
#if defined(I_MPI_VERSION)
enum { has_empty = 0, has_negative_extents = 0, has_interleaved = 0, has_unlike_to_all = 0, has_written_gaps = 1 };
enum { has_long_to_root_between = 1, has_pending_bcast_between = 1 };
#elif defined(OPEN_MPI)
enum { has_empty = 0, has_negative_extents = 0, has_interleaved = 1, has_unlike_to_all = 1, has_written_gaps = 0 };
enum { has_long_to_root_between = 1, has_pending_bcast_between = 1 };
#else
enum { has_empty = 1, has_negative_extents = 1, has_interleaved = 1, has_unlike_to_all = 1, has_written_gaps = 0 };
enum { has_long_to_root_between = 0, has_pending_bcast_between = 0 };
#endif

// Which of two functions is called: MPI_Name, whose results are tried, or PMPI_Name, which nobody replaces.
enum { tried, native };

// Two copies of one memory, for either function. A buffer that MPI gets begins at the origin of a copy; what
// lies between `from` and `to`, bytes from the origin, is compared, with what surrounds the data.
typedef struct {
    char* origin[2];
    size_t room;  // bytes on either side of the origin
    ptrdiff_t from, to;
} Pair;

enum { elements_of_a_type = 4, types_of_a_set = 14 };

// An MPI datatype of four elements of one predefined type, or of one, or of none.
typedef struct {
    MPI_Datatype handle;
    const char* shape;
    int elements;
    int bytes_of_one;                     // of the predefined type
    int is_interleaved;                   // an element lies among those of its neighbours
    MPI_Aint extent, true_from, true_to;  // bytes from its origin
    MPI_Aint places[elements_of_a_type];  // of the elements, in the order of the signature
} Type;

typedef struct {
    Type types[types_of_a_set];
    int count;
} TypeSet;

// A communicator and what this rank is in it.
typedef struct {
    MPI_Comm comm;
    const char* name;
    int rank, size;
    int peers;  // ranks that blocks go to or come from: of the remote group in an intercommunicator
    int is_inter;
    int side;                   // of an intercommunicator: 0 or 1, of all ranks of a group alike
    int sources, destinations;  // of a topology
} Group;

enum { most_groups = 12, guarded_arrays = 16 };

typedef struct {
    const char* family;
    uint64_t seed;
    long number;              // of the call being made
    long epoch;               // datatypes and ops are made anew in each
    long calls;               // made
    long wrong;               // calls with another result than the native one
    double begun_s, seconds;  // 0: as many calls as were asked for
    Random all;               // the same numbers on each rank
    Random mine;              // this rank's
    MPI_Comm world;
    int rank, size;
    Pair send, receive, large_send, large_receive;
    TypeSet moved;    // datatypes of one random predefined type
    TypeSet reduced;  // of MPI_UNSIGNED
    Group groups[most_groups];
    int groups_count;
    char* guarded[guarded_arrays];
    MPI_Request request;
    char what[256];  // the call being made
} Sequence;

void begin_sequence(Sequence* sequence, MPI_Comm world);
void end_sequence(Sequence* sequence);
// Ends the process, with the library's words, where something failed without which there are no calls to make.
void need(int code, const char* what);
// Before each call. @return 0: the last one was made.
int next_call(Sequence* sequence, long calls);
__attribute__((format(printf, 2, 3))) void describe(Sequence* sequence, const char* format, ...);
__attribute__((format(printf, 2, 3))) void differs(Sequence* sequence, const char* format, ...);
// Error codes are compared by their class: codes of one error differ in some libraries.
void same_codes(Sequence* sequence, int code, int native_code);
// For values of which there is one: 0: nothing was wrong.
void same_numbers(Sequence* sequence, const char* what, long got, long expected);

// Arrays that end where an unreadable page begins.
void* guarded(Sequence* sequence, int which, size_t bytes);

// Fills both copies alike from what `random` draws, and what surrounds `count` elements too.
void fill(Pair* pair, Random* random, const Type* type, long count);
void fill_bytes(Pair* pair, Random* random, ptrdiff_t from, ptrdiff_t to);
void same_bytes(Sequence* sequence, const Pair* pair, const char* which);
// Bytes from the origin that elements take, from the first to the last.
void span_of(const Type* type, long count, ptrdiff_t* from, ptrdiff_t* to);

void make_types(Sequence* sequence);
void free_types(Sequence* sequence);
// One of them; `empty`: only one without elements, else one with.
const Type* any_type(const TypeSet* set, Random* random, int empty);

// Every kind of communicator.
void make_groups(Sequence* sequence);
void make_intercommunicators(Sequence* sequence);
void make_topologies(Sequence* sequence);
void free_groups(Sequence* sequence);
