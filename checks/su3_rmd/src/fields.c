/* SPDX-License-Identifier: Apache-2.0 */
#include "fields.h"

#include "memory.h"

#include <string.h>

struct counts {
    size_t links, staples, momenta, shift, sites; /* numbers in each field */
};

static struct counts count_fields(const struct lattice *lattice) {
    size_t lanes = (size_t)lattice->lanes, volume = (size_t)lattice->volume;
    size_t slots = (size_t)lattice->slots;
    struct counts counts = {.links = slots * DIRECTIONS * LINK_REALS * lanes,
                            .staples = ((size_t)lattice->staples + 3 * (slots - volume)) *
                                       LINK_REALS * lanes,
                            .momenta = volume * DIRECTIONS * MOMENTUM_REALS * lanes,
                            .shift = volume * 7 * lanes,
                            .sites = volume * lanes};
    return counts;
}

double fields_bytes(const struct lattice *lattice) {
    struct counts n = count_fields(lattice);
    return (double)sizeof(real) * ((double)n.links + (double)n.staples + (double)n.momenta) +
           4.0 * (double)n.shift + 16.0 * (double)n.sites;
}

int fields_make(struct fields *fields, const struct lattice *lattice) {
    struct counts n = count_fields(lattice);
    fields->links = memory_take(n.links * sizeof(real));
    fields->staples = memory_take(n.staples * sizeof(real));
    fields->momenta = memory_take(n.momenta * sizeof(real));
    fields->shift = memory_take(n.shift * sizeof *fields->shift);
    fields->congruent = memory_take(n.sites * sizeof *fields->congruent);
    fields->factor = memory_take(n.sites * sizeof *fields->factor);
    if (fields->links && fields->staples && fields->momenta && fields->shift && fields->congruent &&
        fields->factor)
        return 0;
    fields_free(fields);
    return -1;
}

void fields_free(struct fields *fields) {
    memory_return(fields->links);
    memory_return(fields->staples);
    memory_return(fields->momenta);
    memory_return(fields->shift);
    memory_return(fields->congruent);
    memory_return(fields->factor);
    memset(fields, 0, sizeof *fields);
}

void field_get(const struct lattice *lattice, const real *field, size_t item, int lane, su3 *out) {
    real *numbers = &out->e[0][0].re;
    for (int e = 0; e < LINK_REALS; e++)
        numbers[e] = field[field_at(lattice, item, LINK_REALS, e, lane)];
}

void field_put(const struct lattice *lattice, real *field, size_t item, int lane, const su3 *in) {
    const real *numbers = &in->e[0][0].re;
    for (int e = 0; e < LINK_REALS; e++)
        field[field_at(lattice, item, LINK_REALS, e, lane)] = numbers[e];
}

void fields_cold(const struct lattice *lattice, struct fields *fields) {
    su3 one;
    su3_identity(&one);
    for (int item = 0; item < DIRECTIONS * lattice->volume; item++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            field_put(lattice, fields->links, (size_t)item, lane, &one);
}

double fields_deviation(const struct lattice *lattice, const struct fields *fields) {
    double worst = 0;
    for (int item = 0; item < DIRECTIONS * lattice->volume; item++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            su3 link;
            field_get(lattice, fields->links, (size_t)item, lane, &link);
            double deviation = (double)su3_deviation(&link);
            if (!(deviation <= worst))
                worst = deviation;
        }
    return worst;
}
