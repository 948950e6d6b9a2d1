/* SPDX-License-Identifier: Apache-2.0 */
/* Plaquettes, Polyakov loop and a trajectory are invariant under a random gauge transformation:
 * U_mu(x) -> G(x) U_mu(x) G†(x+mu), P -> G P G†. The time step is small because reunitarising the
 * remainder of the sixth order, about (eps P)^7/5040, is not covariant. */
#include "random.h"
#include "setup.h"

#include <stdlib.h>

static const int size[DIRECTIONS] = {4, 2, 6, 12};

static su3 transformation(long index) {
    struct generator generator;
    real momentum[MOMENTUM_REALS];
    su3 g;
    random_seed_one(&generator, 4711, index);
    random_momentum(&generator, momentum);
    su3_identity(&g);
    for (int i = 0; i < 4; i++)
        su3_exp_mul(&g, momentum, (real)0.25);
    su3_reunitarise(&g);
    return g;
}

static void transform(const struct lattice *lattice, struct fields *fields, int site, int lane) {
    long index = lattice_index(lattice, site, lane);
    su3 g = transformation(index), old, half, p;
    long stride = 1;
    for (int d = 0; d < DIRECTIONS; stride *= size[d], d++) {
        long c = index / stride % size[d];
        su3 next = transformation(index + ((c + 1) % size[d] - c) * stride);
        real momentum[MOMENTUM_REALS];
        size_t item = (size_t)(DIRECTIONS * site + d);
        field_get(lattice, fields->links, item, lane, &old);
        su3_mul(&half, &g, &old);
        su3_mul_dag(&old, &half, &next);
        field_put(lattice, fields->links, item, lane, &old);
        for (int i = 0; i < MOMENTUM_REALS; i++)
            momentum[i] = fields->momenta[field_at(lattice, item, MOMENTUM_REALS, i, lane)];
        su3_from_momentum(&p, momentum);
        su3_mul(&half, &g, &p);
        su3_mul_dag(&p, &half, &g);
        su3_momentum(momentum, &p);
        for (int i = 0; i < MOMENTUM_REALS; i++)
            fields->momenta[field_at(lattice, item, MOMENTUM_REALS, i, lane)] = momentum[i];
    }
}

static void measure(const struct kernels *kernels, int transformed, struct measurement out[2]) {
    const struct physics physics = {.beta = 6, .epsilon = 0.01, .steps = 20};
    struct simulation simulation;
    setup_make(&simulation, size, kernels, HALO_ISEND, 1);
    kernels->refresh(&simulation.lattice, &simulation.fields);
    for (int site = 0; transformed && site < simulation.lattice.volume; site++)
        for (int lane = 0; lane < simulation.lattice.lanes; lane++)
            transform(&simulation.lattice, &simulation.fields, site, lane);
    simulation_measure(&simulation, &out[0]);
    leapfrog(&simulation, &physics);
    simulation_measure(&simulation, &out[1]);
    simulation_free(&simulation);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++) {
        struct measurement plain[2], transformed[2];
        measure(*kernels, 0, plain);
        measure(*kernels, 1, transformed);
        for (int i = 0; i < 2; i++) {
            const struct measurement *a = &plain[i], *b = &transformed[i];
            double worst = fmax(fabs(a->space - b->space), fabs(a->time - b->time));
            setup_deviation(worst, SETUP_ROUNDING, "gauge invariance, %s: plaquettes %s",
                            (*kernels)->name, i ? "after a trajectory" : "at once");
            worst = fmax(fabs(a->line_re - b->line_re), fabs(a->line_im - b->line_im));
            setup_deviation(worst, SETUP_ROUNDING, "gauge invariance, %s: Polyakov loop %s",
                            (*kernels)->name, i ? "after a trajectory" : "at once");
        }
    }
    return setup_end();
}
