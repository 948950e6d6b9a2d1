/* SPDX-License-Identifier: Apache-2.0 */
/* Every real of every halo slot comes from the right site, for all kernels and kinds of messages.
 */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

/* A number that identifies site and element, exact in single precision. */
static real mark(long index, int place) { return (real)(index * 256 + place); }

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

/* Global number of the site one step from a lane of a vector site. */
static long neighbour_index(const struct lattice *lattice, int site, int lane, int d, int step) {
    long index = lattice_index(lattice, site, lane), stride = 1;
    for (int e = 0; e < d; e++)
        stride *= lattice->size[e];
    long c = index / stride % lattice->size[d];
    return index + ((c + step + lattice->size[d]) % lattice->size[d] - c) * stride;
}

/* Wrong reals in the staples behind vector sites first … last-1, along directions first_d … last_d.
 */
static long wrong_behind(const struct simulation *simulation, int first, int last, int first_d,
                         int last_d) {
    const struct lattice *lattice = &simulation->lattice;
    long wrong = 0;
    for (int site = first; site < last; site++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int d = first_d; d <= last_d; d++) {
                size_t item = (size_t)lattice->behind_staple[DIRECTIONS * site + d];
                long index = neighbour_index(lattice, site, lane, d, -1);
                for (int e = 0; e < 3 * LINK_REALS; e++)
                    wrong +=
                        simulation->fields.staples[field_at(lattice, item, LINK_REALS, e, lane)] !=
                        mark(index, 3 * LINK_REALS * d + e);
            }
    return wrong;
}

/* Mark all links, fill their halo; the wrong reals in the links ahead. */
static long links_ahead(struct simulation *simulation) {
    const int reals = DIRECTIONS * LINK_REALS;
    const struct lattice *lattice = &simulation->lattice;
    real *links = simulation->fields.links;
    long wrong = 0;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int e = 0; e < reals; e++)
                links[field_at(lattice, (size_t)site, reals, e, lane)] =
                    mark(lattice_index(lattice, site, lane), e);
    halo_start(&simulation->halo, HALO_LINKS, HALO_ALL, &simulation->fields);
    halo_finish(&simulation->halo, HALO_LINKS, HALO_ALL, &simulation->fields);
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++)
            for (int d = 0; d < DIRECTIONS; d++) {
                size_t slot = (size_t)lattice->ahead[DIRECTIONS * site + d];
                long index = neighbour_index(lattice, site, lane, d, 1);
                for (int e = 0; e < reals; e++)
                    if (e / LINK_REALS != d)
                        wrong += links[field_at(lattice, slot, reals, e, lane)] != mark(index, e);
            }
    return wrong;
}

/* The staples of a slice are kept while the next one is computed, those of the first and the last
 * slice to the end. */
static long staples_by_slices(struct simulation *simulation) {
    const int slice = lattice_slice(&simulation->lattice);
    long wrong = 0;
    for (int t = 0; t < simulation->lattice.sub[3]; t++) {
        mark_staples(simulation, t * slice, (t + 1) * slice);
        halo_slice(&simulation->halo, HALO_STAPLES, t, &simulation->fields);
        wrong += wrong_behind(simulation, t * slice, (t + 1) * slice, 0, t ? 3 : 2);
    }
    halo_start(&simulation->halo, HALO_STAPLES, HALO_TIME, &simulation->fields);
    halo_finish(&simulation->halo, HALO_STAPLES, HALO_TIME, &simulation->fields);
    return wrong + wrong_behind(simulation, 0, slice, 0, 3);
}

static void prove(const int size[DIRECTIONS], const struct kernels *kernels, enum halo_mode mode) {
    struct simulation simulation;
    setup_make(&simulation, size, kernels, mode, 0);
    long wrong = links_ahead(&simulation);
    if (simulation.lattice.by_slice) {
        wrong += staples_by_slices(&simulation);
    } else {
        mark_staples(&simulation, 0, simulation.lattice.volume);
        halo_start(&simulation.halo, HALO_STAPLES, HALO_ALL, &simulation.fields);
        halo_finish(&simulation.halo, HALO_STAPLES, HALO_ALL, &simulation.fields);
        wrong += wrong_behind(&simulation, 0, simulation.lattice.volume, 0, 3);
    }
    setup_deviation((double)wrong, 0, "halo %dx%dx%dx%d %s %s, by %s: wrong numbers", size[0],
                    size[1], size[2], size[3], kernels->name, halo_mode_names[mode],
                    simulation.lattice.by_slice ? "slices" : "passes");
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
