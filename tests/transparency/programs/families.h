// SPDX-License-Identifier: Apache-2.0
// What a sequence is made of: one random call each, or a few that belong together.
#pragma once

#include "collective.h"

void move_once(Sequence* sequence);
void move_lengths_once(Sequence* sequence);
void reduce_once(Sequence* sequence);
void meet_neighbours_once(Sequence* sequence);
void exchange_once(Sequence* sequence);
void access_once(Sequence* sequence);
void fail_once(Sequence* sequence);
void handle_once(Sequence* sequence);
int use_up_communicators(Sequence* sequence);

// Ops of the program, for reduce_once.
void make_ops(void);
void free_ops(void);
// For access_once.
void open_windows(Sequence* sequence);
void close_windows(Sequence* sequence);
