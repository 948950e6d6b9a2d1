/* SPDX-License-Identifier: Apache-2.0 */
/* The shuffle: a permutation, the same for the same seed, and uniform. */
#include "assay/shuffle.h"
#include "proof.h"

#include <string.h>

#define COUNT 1000
#define PLACES 10
#define DRAWS 20000

/* Chi-square of "element e is at place p" over PLACES² cells with (PLACES-1)² degrees of freedom,
 * in Wilson and Hilferty's normal approximation. */
static double uniformity_z(void) {
    static double cells[PLACES][PLACES];
    double expected = (double)DRAWS / PLACES, sum = 0, degrees = (PLACES - 1) * (PLACES - 1);
    for (uint64_t seed = 0; seed < DRAWS; seed++) {
        size_t order[PLACES];
        shuffle(order, PLACES, seed);
        for (size_t place = 0; place < PLACES; place++)
            cells[order[place]][place]++;
    }
    for (int e = 0; e < PLACES; e++)
        for (int p = 0; p < PLACES; p++)
            sum += (cells[e][p] - expected) * (cells[e][p] - expected) / expected;
    double variance = 2 / (9 * degrees);
    return (cbrt(sum / degrees) - (1 - variance)) / sqrt(variance);
}

int main(void) {
    size_t first[COUNT], second[COUNT], other[COUNT], single[1] = {5};
    unsigned char seen[COUNT] = {0};
    double not_once = 0, beyond = 0;
    struct generator reference = {1234567}, draws = {7};
    shuffle(first, COUNT, 42);
    shuffle(second, COUNT, 42);
    shuffle(other, COUNT, 43);
    shuffle(single, 1, 42);
    shuffle(single, 0, 42);
    for (size_t i = 0; i < COUNT; i++)
        not_once += first[i] >= COUNT || seen[first[i]]++;
    for (int i = 0; i < DRAWS; i++)
        beyond += generator_below(&draws, 3) > 2;
    proof_deviation("elements that do not occur once", not_once, 0, 0);
    proof_true("same seed, same order", memcmp(first, second, sizeof first) == 0);
    proof_true("other seed, other order", memcmp(first, other, sizeof first) != 0);
    proof_true("one element stays", single[0] == 0);
    proof_true("SplitMix64 reference value for seed 1234567",
               generator_next(&reference) == 6457827717110365317ULL);
    proof_deviation("draws beyond the bound", beyond, 0, 0);
    proof_deviation("uniform places (normal score of chi-square)", uniformity_z(), 0, 4);
    return proof_status();
}
