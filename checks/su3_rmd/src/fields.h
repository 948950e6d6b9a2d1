/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "lattice.h"
#include "su3.h"

#include <stddef.h>
#include <stdint.h>

/* The fields on the sites, in vectors of `lanes` reals (lattice.h):
 *   links    [slots][direction][18][lanes]; a halo slot of direction d lacks link d
 *   staples  [place and direction of the step][3][18][lanes], then [halo slot][3][18][lanes]:
 *            see kernels.h; the 3 are the links other than the step's direction, in order;
 *            lattice.own_staple gives the place
 *   momenta  [volume][direction][8][lanes]
 *   shift    [volume][7][lanes], congruent and factor [volume][lanes]: the generators (random.h)
 * All are aligned to 64 bytes. */
struct fields {
    real *links, *staples, *momenta;
    uint32_t *shift;
    uint64_t *congruent, *factor;
};

/* Bytes that fields_make allocates for this rank. */
double fields_bytes(const struct lattice *lattice);

/* Allocate and zero. 0, or -1 if out of memory. Local. */
int fields_make(struct fields *fields, const struct lattice *lattice);
void fields_free(struct fields *fields);

/* Index in a field of matrices or momenta: `element` of `item`, which counts blocks of `reals`
 * reals. */
static inline size_t field_at(const struct lattice *lattice, size_t item, int reals, int element,
                              int lane) {
    return (item * (size_t)reals + (size_t)element) * (size_t)lattice->lanes + (size_t)lane;
}

/* Copy one lane's matrix from and to field[item]. */
void field_get(const struct lattice *lattice, const real *field, size_t item, int lane, su3 *out);
void field_put(const struct lattice *lattice, real *field, size_t item, int lane, const su3 *in);

/* All links the identity. */
void fields_cold(const struct lattice *lattice, struct fields *fields);

/* The greatest deviation from SU(3) of this rank's links. Local. */
double fields_deviation(const struct lattice *lattice, const struct fields *fields);
