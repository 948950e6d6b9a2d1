/* SPDX-License-Identifier: Apache-2.0 */
#include "simulation.h"

#include "assay/clock.h"
#include "leapfrog.h"
#include "memory.h"
#include "polyakov.h"
#include "sums.h"

#include <math.h>
#include <string.h>

/* Reals of scratch space: for the plaquettes of all sites or all Polyakov lines. */
static size_t scratch_numbers(const struct lattice *lattice) {
    size_t plaquettes = 2 * (size_t)lattice->volume * (size_t)lattice->lanes;
    size_t lines = polyakov_numbers(lattice);
    return plaquettes > lines ? plaquettes : lines;
}

double simulation_bytes(const struct lattice *lattice, const struct kernels *kernels) {
    struct lattice planned = *lattice;
    planned.lanes = kernels->lanes;
    lattice_count(&planned);
    return fields_bytes(&planned) + (double)scratch_numbers(&planned) * sizeof(real) +
           (double)planned.volume *
               (DIRECTIONS * (sizeof(int) + 2 * sizeof(long)) + 3 * sizeof(int)) +
           (double)planned.volume * planned.lanes;
}

/* -1 on every rank if one has failed. Collective over comm. */
static int all_well(int failed, MPI_Comm comm) {
    int any;
    MPI_Allreduce(&failed, &any, 1, MPI_INT, MPI_MAX, comm);
    return any ? -1 : 0;
}

int simulation_make(struct simulation *simulation, const struct lattice *lattice,
                    const struct kernels *kernels, enum halo_mode mode, int overlap,
                    MPI_Comm comm) {
    memset(simulation, 0, sizeof *simulation);
    simulation->lattice = *lattice;
    simulation->lattice.lanes = kernels->lanes;
    simulation->kernels = kernels;
    simulation->overlap = overlap;
    simulation->comm = comm;
    int failed = lattice_make(&simulation->lattice) != 0 ||
                 fields_make(&simulation->fields, &simulation->lattice) != 0;
    if (!failed)
        simulation->scratch = memory_take(scratch_numbers(&simulation->lattice) * sizeof(real));
    if (all_well(failed || !simulation->scratch, comm) != 0)
        return -1;
    failed = halo_make(&simulation->halo, &simulation->lattice, &simulation->fields, kernels, mode,
                       comm) != 0;
    return all_well(failed, comm);
}

void simulation_free(struct simulation *simulation) {
    halo_free(&simulation->halo);
    memory_return(simulation->scratch);
    fields_free(&simulation->fields);
    lattice_free(&simulation->lattice);
}

int simulation_trajectory(struct simulation *simulation, const struct physics *physics) {
    double start = timing_monotonic(), worst;
    simulation->kernels->refresh(&simulation->lattice, &simulation->fields);
    double refreshed = timing_monotonic();
    double own = leapfrog(simulation, physics);
    double moved = timing_monotonic();
    if (isnan(own))
        own = HUGE_VAL;
    MPI_Allreduce(&own, &worst, 1, MPI_DOUBLE, MPI_MAX, simulation->comm);
    simulation->times.refresh_s += refreshed - start;
    simulation->times.dynamics_s += moved - refreshed;
    simulation->times.global_sum_s += timing_monotonic() - moved;
    if (worst > simulation->deviation)
        simulation->deviation = worst;
    return worst <= SIMULATION_DEVIATION ? 0 : -1;
}

/* The plaquettes of each site, in scratch. */
static void plaquettes(struct simulation *simulation) {
    const struct lattice *lattice = &simulation->lattice;
    const int parts = lattice->by_slice ? lattice->sub[3] : 1, places = lattice->volume / parts;
    for (int part = 0; part < parts; part++) {
        if (lattice->by_slice)
            halo_slice(&simulation->halo, HALO_LINKS, part, &simulation->fields);
        simulation->kernels->plaquettes(lattice, &simulation->fields, simulation->scratch,
                                        lattice->in_order + (long)part * places, places);
    }
}

void simulation_measure(struct simulation *simulation, struct measurement *out) {
    struct sum sums[4];
    double values[4], start = timing_monotonic();
    const struct lattice *lattice = &simulation->lattice;
    const int lanes = lattice->lanes;
    const double sites = (double)lattice_sites(lattice);
    memset(sums, 0, sizeof sums);
    halo_start(&simulation->halo, HALO_LINKS, &simulation->fields);
    polyakov_lines(simulation, sums + 2);
    halo_finish(&simulation->halo, HALO_LINKS, &simulation->fields);
    plaquettes(simulation);
    for (long site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lanes; lane++)
            if (lattice->owned[site * lanes + lane]) {
                sum_add(&sums[0], (double)simulation->scratch[2 * site * lanes + lane]);
                sum_add(&sums[1], (double)simulation->scratch[(2 * site + 1) * lanes + lane]);
            }
    double summed = timing_monotonic();
    sums_finish(sums, 4, values, simulation->comm);
    simulation->times.measurement_s += summed - start;
    simulation->times.global_sum_s += timing_monotonic() - summed;
    simulation->work.plaquettes++;
    out->space = values[0] / (3 * sites);
    out->time = values[1] / (3 * sites);
    out->line_re = values[2] / (sites / lattice->size[3]);
    out->line_im = values[3] / (sites / lattice->size[3]);
}

double simulation_kinetic(struct simulation *simulation) {
    const struct lattice *lattice = &simulation->lattice;
    struct sum sum = {0, 0, 0};
    double total;
    for (int item = 0; item < DIRECTIONS * lattice->volume; item++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            double p[MOMENTUM_REALS];
            if (!lattice->owned[(long)(item / DIRECTIONS) * lattice->lanes + lane])
                continue;
            for (int i = 0; i < MOMENTUM_REALS; i++)
                p[i] = (double)simulation->fields
                           .momenta[field_at(lattice, (size_t)item, MOMENTUM_REALS, i, lane)];
            double third = -(p[0] + p[1]), squares = p[0] * p[0] + p[1] * p[1] + third * third;
            for (int i = 2; i < MOMENTUM_REALS; i++)
                squares += 2 * p[i] * p[i];
            sum_add(&sum, squares / 2); /* ½ Tr P†P of a link */
        }
    sums_finish(&sum, 1, &total, simulation->comm);
    return total;
}
