// SPDX-License-Identifier: Apache-2.0
// Blocks of different lengths at places of their own: the arrays that collectives take for them.
#pragma once

#include "collective.h"

enum { most_units = 5, most_peers = 64 };

// Where the arrays of a side lie, each before an unreadable page.
enum { of_send = 0, of_receive = 8 };

typedef struct {
    int *counts, *places;
    MPI_Count* large_counts;
    MPI_Aint* large_places;  // in elements, or in bytes for blocks of several types
    MPI_Datatype* types;
} Blocks;

// Room for the arrays of so many blocks.
Blocks blocks_for(Sequence* sequence, int side, int peers);
// Blocks of so many times four elements, in places that do not overlap; fills the pair.
Blocks blocks_of_type(Sequence* sequence, int side, Pair* pair, const Type* type, int peers,
                      const int units[]);
// Each of a type of its own.
Blocks blocks_of_types(Sequence* sequence, int side, Pair* pair, int peers, const int units[]);
// As many units go from one to another, whoever asks.
int units_between(const Sequence* sequence, int from, int to);
int count_of_units(const Type* type, long units);
