/* SPDX-License-Identifier: Apache-2.0 */
#include "shuffle.h"

#include "buffer.h"

#include <stdlib.h>

uint64_t generator_next(struct generator *generator) {
    uint64_t z = generator->state += 0x9E3779B97F4A7C15ULL;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
}

uint64_t generator_below(struct generator *generator, uint64_t bound) {
    uint64_t excess = (0 - bound) % bound; /* 2^64 mod bound: values below it are rejected */
    uint64_t value = generator_next(generator);
    while (value < excess)
        value = generator_next(generator);
    return value % bound;
}

void shuffle(size_t *order, size_t count, uint64_t seed) {
    struct generator generator = {seed};
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    for (size_t left = count; left > 1; left--) {
        size_t chosen = (size_t)generator_below(&generator, left);
        size_t last = order[left - 1];
        order[left - 1] = order[chosen];
        order[chosen] = last;
    }
}

void shuffled_each(size_t count, uint64_t seed, void (*body)(void *context, size_t item),
                   void *context) {
    size_t *order = buffer_make(count, sizeof *order);
    shuffle(order, count, seed);
    for (size_t i = 0; i < count; i++)
        body(context, order[i]);
    free(order);
}
