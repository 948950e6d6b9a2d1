/* SPDX-License-Identifier: Apache-2.0 */
/* Every number of every halo slot comes from the right site, whatever the way it travelled. */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

/* A number that names its site and place, exact in single precision. */
static real mark(long index, int place) { return (real)(index * 256 + place); }

static void mark_fields(struct simulation *simulation) {
    const struct lattice *lattice = &simulation->lattice;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            long index = lattice_index(lattice, site, lane);
            for (int e = 0; e < DIRECTIONS * LINK_REALS; e++)
                simulation->fields
                    .links[field_at(lattice, (size_t)site, DIRECTIONS * LINK_REALS, e, lane)] =
                    mark(index, e);
            for (int e = 0; e < 12 * LINK_REALS; e++)
                simulation->fields
                    .staples[field_at(lattice, (size_t)site, 12 * LINK_REALS, e, lane)] =
                    mark(index, e);
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

static void check(const int size[DIRECTIONS], const struct kernels *kernels, enum halo_mode mode) {
    struct simulation simulation;
    char property[96];
    long wrong = 0;
    setup_make(&simulation, size, kernels, mode, 0);
    mark_fields(&simulation);
    halo_start(&simulation.halo, HALO_LINKS, &simulation.fields);
    halo_finish(&simulation.halo, HALO_LINKS, &simulation.fields);
    halo_start(&simulation.halo, HALO_STAPLES, &simulation.fields);
    halo_finish(&simulation.halo, HALO_STAPLES, &simulation.fields);
    for (int site = 0; site < simulation.lattice.volume; site++)
        for (int lane = 0; lane < simulation.lattice.lanes; lane++)
            for (int d = 0; d < DIRECTIONS; d++)
                wrong += wrong_ahead(&simulation, site, lane, d) +
                         wrong_behind(&simulation, site, lane, d);
    snprintf(property, sizeof property, "halo %dx%dx%dx%d %s %s: wrong numbers", size[0], size[1],
             size[2], size[3], kernels->name, halo_mode_names[mode]);
    setup_deviation(property, (double)wrong, 0);
    simulation_free(&simulation);
}

int main(int argc, char **argv) {
    static const int sizes[][DIRECTIONS] = {{4, 4, 6, 12}, {3, 5, 2, 12}, {1, 2, 3, 4}};
    MPI_Init(&argc, &argv);
    for (int s = 0; s < 3; s++)
        for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++)
            for (int mode = 0; mode < HALO_MODES; mode++)
                check(sizes[s], *kernels, (enum halo_mode)mode);
    return setup_end();
}
