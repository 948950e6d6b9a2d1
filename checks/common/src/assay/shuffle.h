/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_SHUFFLE_H
#define ASSAY_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* A small generator, good enough to order measurements and the same on every machine: SplitMix64
 * (Steele, Lea, Flood, OOPSLA 2014), 64 bits of state, period 2^64. Not for cryptography. */
struct generator {
    uint64_t state; /* the seed; any value */
};

uint64_t generator_next(struct generator *generator);

/* Uniform in 0 … bound-1 without the bias of a plain remainder; bound > 0. */
uint64_t generator_below(struct generator *generator, uint64_t bound);

/* Put a uniformly random permutation of 0 … count-1 into order (Fisher and Yates; Durstenfeld's
 * form). Same seed, same count, same order. Not collective, so every rank gets the same one. */
void shuffle(size_t *order, size_t count, uint64_t seed);

/* body(context, item) for every item 0 … count-1, in the order that shuffle gives. */
void shuffled_each(size_t count, uint64_t seed, void (*body)(void *context, size_t item),
                   void *context);

#endif
