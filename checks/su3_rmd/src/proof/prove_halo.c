/* SPDX-License-Identifier: Apache-2.0 */
/* Every number of every halo slot comes from the right site, whatever the way it travelled. */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

/* A number that names its site and place, exact in single precision. */
static real mark(long index, int place) { return (real)(index * 256 + place); }

static void mark_links(struct simulation *simulation) {
    const struct lattice *lattice = &simulation->lattice;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int e = 0; e < DIRECTIONS * LINK_REALS; e++)
                simulation->fields
                    .links[field_at(lattice, (size_t)site, DIRECTIONS * LINK_REALS, e, lane)] =
                    mark(lattice_index(lattice, site, lane), e);
}

static void mark_staples(struct simulation *simulation, int first, int last) {
    const struct lattice *lattice = &simulation->lattice;
    for (int site = first; site < last; site++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int e = 0; e < 12 * LINK_REALS; e++) {
                size_t home = (size_t)lattice->staple_home[site];
                simulation->fields.staples[field_at(lattice, home, LINK_REALS, e, lane)] =
                    mark(lattice_index(lattice, site, lane), e);
            }
}

/* Number of the site one step from a lane of a vector site, from whole-lattice coordinates. */
static long neighbour_index(const struct lattice *lattice, int site, int lane, int d, int step) {
    long index = lattice_index(lattice, site, lane), stride = 1;
    for (int e = 0; e < d; e++)
        stride *= lattice->size[e];
    long c = index / stride % lattice->size[d];
    return index + ((c + step + lattice->size[d]) % lattice->size[d] - c) * stride;
}

static long wrong_ahead(const struct simulation *simulation, int site, int lane, int d) {
    const struct lattice *lattice = &simulation->lattice;
    size_t slot = (size_t)lattice->ahead[DIRECTIONS * site + d];
    long index = neighbour_index(lattice, site, lane, d, 1), wrong = 0;
    for (int e = 0; e < DIRECTIONS * LINK_REALS; e++)
        if (e / LINK_REALS != d)
            wrong += simulation->fields
                         .links[field_at(lattice, slot, DIRECTIONS * LINK_REALS, e, lane)] !=
                     mark(index, e);
    return wrong;
}

static long wrong_behind(const struct simulation *simulation, int site, int lane, int d) {
    const struct lattice *lattice = &simulation->lattice;
    size_t first = (size_t)lattice->behind_staple[DIRECTIONS * site + d];
    long index = neighbour_index(lattice, site, lane, d, -1), wrong = 0;
    for (int e = 0; e < 3 * LINK_REALS; e++)
        wrong += simulation->fields.staples[field_at(lattice, first, LINK_REALS, e, lane)] !=
                 mark(index, 3 * LINK_REALS * d + e);
    return wrong;
}

static long all_wrong_ahead(const struct simulation *simulation) {
    long wrong = 0;
    for (int site = 0; site < simulation->lattice.volume; site++)
        for (int lane = 0; lane < simulation->lattice.lanes; lane++)
            for (int d = 0; d < DIRECTIONS; d++)
                wrong += wrong_ahead(simulation, site, lane, d);
    return wrong;
}

/* Of the steps along directions first_d … last_d. */
static long some_wrong_behind(const struct simulation *simulation, int first, int last, int first_d,
                              int last_d) {
    long wrong = 0;
    for (int site = first; site < last; site++)
        for (int lane = 0; lane < simulation->lattice.lanes; lane++)
            for (int d = first_d; d <= last_d; d++)
                wrong += wrong_behind(simulation, site, lane, d);
    return wrong;
}

static long staples_by_passes(struct simulation *simulation) {
    mark_staples(simulation, 0, simulation->lattice.volume);
    halo_start(&simulation->halo, HALO_STAPLES, HALO_ALL, &simulation->fields);
    halo_finish(&simulation->halo, HALO_STAPLES, HALO_ALL, &simulation->fields);
    return some_wrong_behind(simulation, 0, simulation->lattice.volume, 0, 3);
}

/* Staples of a slice are there while the next one is worked on, those of the first and the last to
 * the end. */
static long staples_by_slices(struct simulation *simulation) {
    const int slice = lattice_slice(&simulation->lattice);
    long wrong = 0;
    for (int t = 0; t < simulation->lattice.sub[3]; t++) {
        mark_staples(simulation, t * slice, (t + 1) * slice);
        halo_slice(&simulation->halo, HALO_STAPLES, t, &simulation->fields);
        wrong += some_wrong_behind(simulation, t * slice, (t + 1) * slice, 0, t ? 3 : 2);
    }
    halo_start(&simulation->halo, HALO_STAPLES, HALO_TIME, &simulation->fields);
    halo_finish(&simulation->halo, HALO_STAPLES, HALO_TIME, &simulation->fields);
    return wrong + some_wrong_behind(simulation, 0, slice, 0, 3);
}

static void prove(const int size[DIRECTIONS], const struct kernels *kernels, enum halo_mode mode) {
    struct simulation simulation;
    char property[96];
    setup_make(&simulation, size, kernels, mode, 0);
    mark_links(&simulation);
    halo_start(&simulation.halo, HALO_LINKS, HALO_ALL, &simulation.fields);
    halo_finish(&simulation.halo, HALO_LINKS, HALO_ALL, &simulation.fields);
    long wrong = all_wrong_ahead(&simulation);
    wrong += simulation.lattice.by_slice ? staples_by_slices(&simulation)
                                         : staples_by_passes(&simulation);
    snprintf(property, sizeof property, "halo %dx%dx%dx%d %s %s, by %s: wrong numbers", size[0],
             size[1], size[2], size[3], kernels->name, halo_mode_names[mode],
             simulation.lattice.by_slice ? "slices" : "passes");
    setup_deviation(property, (double)wrong, 0);
    simulation_free(&simulation);
}

int main(int argc, char **argv) {
    static const int sizes[][DIRECTIONS] = {{4, 4, 6, 12}, {3, 5, 2, 24}, {1, 2, 3, 4}};
    MPI_Init(&argc, &argv);
    for (int s = 0; s < 3; s++)
        for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++)
            for (int mode = 0; mode < HALO_MODES; mode++)
                prove(sizes[s], *kernels, (enum halo_mode)mode);
    return setup_end();
}
