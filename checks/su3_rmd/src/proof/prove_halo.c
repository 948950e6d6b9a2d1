/* SPDX-License-Identifier: Apache-2.0 */
/* Every real of every halo slot comes from the right site, for all kernels and kinds of messages.
 */
#include "setup.h"

#include <stdlib.h>

enum { STAPLE_REALS = 3 * LINK_REALS }; /* of a site and a direction */

/* A number that identifies site and element, exact in single precision. */
static real mark(long index, int place) { return (real)(index * 256 + place); }

/* The staples for steps along the directions first … 3. */
static void mark_staples(const struct lattice *lattice, struct fields *fields, const int *sites,
                         int count, int first) {
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int e = first * STAPLE_REALS; e < DIRECTIONS * STAPLE_REALS; e++) {
                int d = e / STAPLE_REALS;
                size_t item = (size_t)lattice->own_staple[DIRECTIONS * sites[i] + d];
                fields->staples[field_at(lattice, item, LINK_REALS, e % STAPLE_REALS, lane)] =
                    mark(lattice_index(lattice, sites[i], lane), e);
            }
}

/* Links that were updated have the opposite sign. */
static void mark_links(const struct lattice *lattice, struct fields *fields, const int *sites,
                       int count, real sign) {
    const int reals = DIRECTIONS * LINK_REALS;
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int e = 0; e < reals; e++)
                fields->links[field_at(lattice, (size_t)sites[i], reals, e, lane)] =
                    sign * mark(lattice_index(lattice, sites[i], lane), e + 1);
}

/* Global number of the site one step from a lane of a vector site. */
static long neighbour_index(const struct lattice *lattice, int site, int lane, int d, int step) {
    long index = lattice_index(lattice, site, lane), stride = 1;
    for (int e = 0; e < d; e++)
        stride *= lattice->size[e];
    long c = index / stride % lattice->size[d];
    return index + ((c + step + lattice->size[d]) % lattice->size[d] - c) * stride;
}

/* Wrong reals in the staples behind these vector sites. */
static long wrong_behind(const struct lattice *lattice, const struct fields *fields,
                         const int *sites, int count) {
    long wrong = 0;
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int d = 0; d < DIRECTIONS; d++) {
                size_t item = (size_t)lattice->behind_staple[DIRECTIONS * sites[i] + d];
                long index = neighbour_index(lattice, sites[i], lane, d, -1);
                for (int e = 0; e < STAPLE_REALS; e++)
                    wrong += fields->staples[field_at(lattice, item, LINK_REALS, e, lane)] !=
                             mark(index, STAPLE_REALS * d + e);
            }
    return wrong;
}

/* Wrong or new reals in the links ahead of these vector sites, along x to `last`. */
static long wrong_ahead(const struct lattice *lattice, const struct fields *fields,
                        const int *sites, int count, int last) {
    const int reals = DIRECTIONS * LINK_REALS;
    long wrong = 0;
    for (int i = 0; i < count; i++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int d = 0; d <= last; d++) {
                size_t slot = (size_t)lattice->ahead[DIRECTIONS * sites[i] + d];
                long index = neighbour_index(lattice, sites[i], lane, d, 1);
                for (int e = 0; e < reals; e++)
                    if (e / LINK_REALS != d)
                        wrong += fields->links[field_at(lattice, slot, reals, e, lane)] !=
                                 mark(index, e + 1);
            }
    return wrong;
}

/* Kernels that mark links and staples where they would be computed, and look at them where they are
 * used, so that the leapfrog itself is tried: its order, its memory and its messages. */
static long updated, wrong_used;

static void drift_marks(const struct lattice *lattice, struct fields *fields, real eps) {
    (void)eps;
    mark_links(lattice, fields, lattice->in_order, lattice->volume, 1);
}

static void force_marks(const struct lattice *lattice, struct fields *fields, real scale,
                        const int *sites, int count) {
    (void)scale;
    wrong_used += wrong_ahead(lattice, fields, sites, count, 3);
    mark_staples(lattice, fields, sites, count, 0);
}

static void time_staples_marks(const struct lattice *lattice, struct fields *fields,
                               const int *sites, int count) {
    wrong_used += wrong_ahead(lattice, fields, sites, count, 2);
    mark_staples(lattice, fields, sites, count, 3);
}

static real update_looks(const struct lattice *lattice, struct fields *fields, real scale, real eps,
                         const int *sites, int count) {
    (void)scale, (void)eps;
    updated += count;
    wrong_used += wrong_behind(lattice, fields, sites, count);
    mark_links(lattice, fields, sites, count, -1);
    return 0;
}

static long wrong_in_step(struct simulation *simulation, const struct kernels *kernels) {
    struct kernels marking = *kernels;
    const struct physics one_step = {.beta = 1, .epsilon = 0, .steps = 1};
    marking.drift = drift_marks;
    marking.force = force_marks;
    marking.time_staples = time_staples_marks;
    marking.update = update_looks;
    updated = wrong_used = 0;
    simulation->kernels = &marking;
    leapfrog(simulation, &one_step);
    simulation->kernels = kernels;
    return wrong_used + labs(updated - (long)simulation->lattice.volume);
}

static void prove(const int size[DIRECTIONS], const struct kernels *kernels, enum halo_mode mode,
                  int overlap) {
    struct simulation simulation;
    setup_make(&simulation, size, kernels, mode, overlap);
    long wrong = wrong_in_step(&simulation, kernels);
    setup_deviation((double)wrong, 0, "halo %dx%dx%dx%d %s %s%s, by %s: wrong numbers", size[0],
                    size[1], size[2], size[3], kernels->name, halo_mode_names[mode],
                    overlap ? " overlapping" : "", simulation.lattice.by_slice ? "rows" : "passes");
    simulation_free(&simulation);
}

int main(int argc, char **argv) {
    static const int sizes[][DIRECTIONS] = {{4, 8, 6, 12}, {3, 5, 2, 24}, {1, 2, 3, 4}};
    MPI_Init(&argc, &argv);
    for (int s = 0; s < 3; s++)
        for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++)
            for (int mode = 0; mode < HALO_MODES; mode++)
                for (int overlap = 0; overlap < (mode == HALO_ISEND ? 2 : 1); overlap++)
                    prove(sizes[s], *kernels, (enum halo_mode)mode, overlap);
    return setup_end();
}
