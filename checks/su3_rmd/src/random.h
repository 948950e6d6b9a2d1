/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "fields.h"

/* One generator a site, so that random numbers are independent of the rank count: a 127-bit
 * feedback shift register of seven 24-bit words, combined with a 64-bit linear congruence whose
 * factor depends on the site. Stored lane by lane in fields. Local. */

/* Seed every site's generator from iseed and the global number of the site. */
void random_seed(const struct lattice *lattice, struct fields *fields, long iseed);

/* A generator outside the fields, for single sites. */
struct generator {
    uint32_t shift[7];
    uint64_t congruent, factor;
};

void random_get(const struct lattice *lattice, const struct fields *fields, int site, int lane,
                struct generator *out);
void random_put(const struct lattice *lattice, struct fields *fields, int site, int lane,
                const struct generator *in);
void random_seed_one(struct generator *generator, long iseed, long index);

/* Two normal numbers with <x²> = 1/2 each (polar method; Marsaglia and Bray 1964). */
void random_gauss(struct generator *generator, real pair[2]);

/* Momenta of one site and direction, distributed as exp(-Tr(P†P)/2). */
void random_momentum(struct generator *generator, real momentum[MOMENTUM_REALS]);

/* All links exp(P) with random P of the given width: the warm start. Consumes the generators. */
void random_warm(const struct lattice *lattice, struct fields *fields);
