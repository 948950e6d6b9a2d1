/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A small random generator, the same on every machine, to order measurements and to make data:
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014), 64 bits of state, period 2^64. Local. */
struct generator {
    uint64_t state; /* the seed; any value */
};

uint64_t generator_next(struct generator *generator);

/* Uniform in 0 … bound-1, without modulo bias; bound > 0. */
uint64_t generator_below(struct generator *generator, uint64_t bound);

/* Write a uniformly random permutation of 0 … count-1 into order (Fisher and Yates; Durstenfeld's
 * form). The same seed and count give the same order, on every rank too. */
void shuffle(size_t *order, size_t count, uint64_t seed);

/* Call body(context, item) for every item 0 … count-1 in the order of shuffle. Out of memory ends
 * the run (fail_if). */
void shuffled_each(size_t count, uint64_t seed, void (*body)(void *context, size_t item),
                   void *context);
