/* SPDX-License-Identifier: Apache-2.0 */
#include "setup.h"

#include "assay/fail.h"
#include "layout.h"
#include "random.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int failures;

void setup_make(struct simulation *simulation, const int size[DIRECTIONS],
                const struct kernels *kernels, enum halo_mode mode, int overlap) {
    struct lattice lattice = {0};
    MPI_Comm_rank(MPI_COMM_WORLD, &lattice.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &lattice.ranks);
    memcpy(lattice.size, size, sizeof lattice.size);
    fail_all(layout_choose(size, lattice.ranks, lattice.procs) != 0, "setup",
             "%d ranks do not divide the lattice of the proof", lattice.ranks);
    fail_all(simulation_make(simulation, &lattice, kernels, mode, overlap, MPI_COMM_WORLD) != 0,
             "setup", "no memory");
    random_seed(&simulation->lattice, &simulation->fields, 8352);
    random_warm(&simulation->lattice, &simulation->fields);
}

const struct kernels **setup_kernels(void) {
    static const struct kernels *possible[16];
    int count = 0;
    char why[256];
    for (int i = 0; kernels_all[i] && count < 15; i++)
        if (kernels_select(kernels_all[i]->name, why, sizeof why))
            possible[count++] = kernels_all[i];
    possible[count] = NULL;
    return possible;
}

long setup_count(const struct simulation *simulation, int reals) {
    return lattice_sites(&simulation->lattice) * DIRECTIONS * reals;
}

double *setup_gather(const struct simulation *simulation, const real *field, int reals) {
    const struct lattice *lattice = &simulation->lattice;
    long count = setup_count(simulation, reals);
    double *own = calloc((size_t)count, sizeof *own), *all = calloc((size_t)count, sizeof *all);
    fail_if(!own || !all, "setup", "no memory");
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            double *out = own + lattice_index(lattice, site, lane) * DIRECTIONS * reals;
            if (!lattice->owned[(long)site * lattice->lanes + lane])
                continue;
            for (int e = 0; e < DIRECTIONS * reals; e++)
                out[e] =
                    (double)field[field_at(lattice, (size_t)site, DIRECTIONS * reals, e, lane)];
        }
    MPI_Allreduce(own, all, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    free(own);
    return all;
}

void setup_scatter(const struct simulation *simulation, real *field, int reals,
                   const double *values) {
    const struct lattice *lattice = &simulation->lattice;
    for (int site = 0; site < lattice->volume; site++)
        for (int lane = 0; lane < lattice->lanes; lane++) {
            const double *in = values + lattice_index(lattice, site, lane) * DIRECTIONS * reals;
            for (int e = 0; e < DIRECTIONS * reals; e++)
                field[field_at(lattice, (size_t)site, DIRECTIONS * reals, e, lane)] = (real)in[e];
        }
}

double setup_difference(const double *a, const double *b, long count) {
    double worst = 0;
    for (long i = 0; i < count; i++)
        if (!(fabs(a[i] - b[i]) <= worst) && !isnan(worst))
            worst = fabs(a[i] - b[i]);
    return worst;
}

double setup_energy(struct simulation *simulation, double beta) {
    struct measurement m;
    simulation_measure(simulation, &m);
    double plaquettes = 3 * (double)lattice_sites(&simulation->lattice);
    double action = beta / 3 * plaquettes * ((3 - m.space) + (3 - m.time));
    return simulation_kinetic(simulation) + action;
}

void setup_deviation(double value, double tolerance, const char *format, ...) {
    char property[96];
    double worst;
    int rank;
    va_list values;
    va_start(values, format);
    vsnprintf(property, sizeof property, format, values);
    va_end(values);
    if (isnan(value))
        value = HUGE_VAL;
    MPI_Allreduce(&value, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        proof_deviation(property, worst, 0, tolerance);
    failures += !(worst <= tolerance);
}

int setup_end(void) {
    MPI_Finalize();
    return failures ? 1 : 0;
}
