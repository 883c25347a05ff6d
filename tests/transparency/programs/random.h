// SPDX-License-Identifier: Apache-2.0
// Random numbers that can be entered anywhere: call 5000 of a seed needs none of the calls before it.
#pragma once

#include <stdint.h>

typedef struct {
    uint64_t state;
} Random;

// The finalizer of splitmix64.
static inline uint64_t mixed(uint64_t value) {
    value += 0x9e3779b97f4a7c15u;
    value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
    value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline uint64_t hash_of(uint64_t seed, uint64_t first, uint64_t second) {
    return mixed(mixed(mixed(seed) ^ first) ^ second);
}

static inline uint64_t next_bits(Random* random) {
    return mixed(random->state++);
}

static inline unsigned below(Random* random, unsigned limit) {
    return (unsigned)((next_bits(random) >> 32) * limit >> 32);
}

static inline int one_in(Random* random, unsigned times) {
    return below(random, times) == 0;
}
