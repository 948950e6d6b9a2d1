/* SPDX-License-Identifier: Apache-2.0 */
#include "random.h"

#include <math.h>

#define WORD_MASK 0xffffffU
#define ADDEND 12345U
#define WARM_WIDTH ((real)0.3)

void random_seed_one(struct generator *generator, long iseed, long index) {
    uint32_t seed = (uint32_t)iseed, factor = 69607U + 8U * (uint32_t)index;
    for (int word = 0; word < 7; word++) {
        seed = factor * seed + ADDEND;
        generator->shift[word] = (seed >> 8) & WORD_MASK;
    }
    seed = factor * seed + ADDEND;
    generator->congruent = (uint64_t)(int64_t)(int32_t)seed;
    generator->factor = 100000005U + 8U * (uint64_t)index;
}

void random_get(const struct lattice *lattice, const struct fields *fields, int site, int lane,
                struct generator *out) {
    size_t at = field_at(lattice, (size_t)site, 1, 0, lane);
    for (int word = 0; word < 7; word++)
        out->shift[word] = fields->shift[field_at(lattice, (size_t)site, 7, word, lane)];
    out->congruent = fields->congruent[at];
    out->factor = fields->factor[at];
}

void random_put(const struct lattice *lattice, struct fields *fields, int site, int lane,
                const struct generator *in) {
    size_t at = field_at(lattice, (size_t)site, 1, 0, lane);
    for (int word = 0; word < 7; word++)
        fields->shift[field_at(lattice, (size_t)site, 7, word, lane)] = in->shift[word];
    fields->congruent[at] = in->congruent;
    fields->factor[at] = in->factor;
}

void random_seed(const struct lattice *lattice, struct fields *fields, long iseed) {
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            struct generator generator;
            random_seed_one(&generator, iseed, lattice_index(lattice, site, lane));
            random_put(lattice, fields, site, lane, &generator);
        }
}

/* In [0, 1), a multiple of 2^-24. */
static real uniform(struct generator *generator) {
    uint32_t *r = generator->shift;
    uint32_t t = (((r[5] >> 7) | (r[6] << 17)) ^ ((r[4] >> 1) | (r[5] << 23))) & WORD_MASK;
    for (int word = 6; word > 0; word--)
        r[word] = r[word - 1];
    r[0] = t;
    generator->congruent = generator->congruent * generator->factor + ADDEND;
    return (real)(t ^ ((uint32_t)(generator->congruent >> 40) & WORD_MASK)) * (real)0x1p-24;
}

void random_gauss(struct generator *generator, real pair[2]) {
    real v1, v2, square;
    do {
        v1 = 2 * uniform(generator) - 1;
        v2 = 2 * uniform(generator) - 1;
        square = v1 * v1 + v2 * v2;
    } while (square >= 1 || square == 0);
    real scale = (real)sqrt(-log((double)square) / (double)square);
    pair[0] = v2 * scale;
    pair[1] = v1 * scale;
}

void random_momentum(struct generator *generator, real momentum[MOMENTUM_REALS]) {
    const real root_third = (real)0.57735026918962576451;
    real pair[2];
    random_gauss(generator, pair); /* r3, r8: the diagonal generators */
    momentum[0] = pair[0] + root_third * pair[1];
    momentum[1] = -pair[0] + root_third * pair[1];
    for (int m = 2; m < MOMENTUM_REALS; m += 2)
        random_gauss(generator, momentum + m);
}

void random_warm(const struct lattice *lattice, struct fields *fields) {
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            struct generator generator;
            random_get(lattice, fields, site, lane, &generator);
            for (int d = 0; d < DIRECTIONS; d++) {
                real momentum[MOMENTUM_REALS];
                su3 link;
                random_momentum(&generator, momentum);
                su3_identity(&link);
                su3_exp_mul(&link, momentum, WARM_WIDTH);
                su3_reunitarise(&link);
                field_put(lattice, fields->links, (size_t)(DIRECTIONS * site + d), lane, &link);
            }
            random_put(lattice, fields, site, lane, &generator);
        }
}
