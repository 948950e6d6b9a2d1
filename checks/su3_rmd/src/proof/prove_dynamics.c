/* SPDX-License-Identifier: Apache-2.0 */
/* The leapfrog: links stay in SU(3), a trajectory is reversible, and the energy error decreases
 * with the square of the time step. */
#include "setup.h"

#include <stdlib.h>

#define BETA 6.0
#ifdef SU3_SINGLE
#define ENERGY_TOLERANCE 0.1
#else
#define ENERGY_TOLERANCE 0.01
#endif

static const int size[DIRECTIONS] = {4, 4, 4, 12};

static void prove_reversal(struct simulation *simulation, const char *name) {
    const struct physics physics = {.beta = BETA, .epsilon = 0.01, .steps = 40};
    const struct lattice *lattice = &simulation->lattice;
    size_t numbers = (size_t)lattice->volume * DIRECTIONS * MOMENTUM_REALS * (size_t)lattice->lanes;
    simulation->kernels->refresh(&simulation->lattice, &simulation->fields);
    double *before = setup_gather(simulation, simulation->fields.links, LINK_REALS);
    leapfrog(simulation, &physics);
    double *middle = setup_gather(simulation, simulation->fields.links, LINK_REALS);
    for (size_t i = 0; i < numbers; i++)
        simulation->fields.momenta[i] = -simulation->fields.momenta[i];
    leapfrog(simulation, &physics);
    double *after = setup_gather(simulation, simulation->fields.links, LINK_REALS);
    long count = setup_count(simulation, LINK_REALS);
    setup_deviation(setup_difference(before, after, count), 20 * SETUP_ROUNDING,
                    "reversibility, %s: links after there and back", name);
    setup_deviation(setup_difference(before, middle, count) < 0.1, 0,
                    "reversibility, %s: 1 if nothing moved", name);
    free(before);
    free(middle);
    free(after);
}

static void prove_energy(struct simulation *simulation, const char *name) {
    fields_cold(&simulation->lattice,
                &simulation->fields); /* far from equilibrium: a large error */
    simulation->kernels->refresh(&simulation->lattice, &simulation->fields);
    double *links = setup_gather(simulation, simulation->fields.links, LINK_REALS);
    double *momenta = setup_gather(simulation, simulation->fields.momenta, MOMENTUM_REALS);
    double error[3];
    for (int i = 0; i < 3; i++) { /* trajectories of length 0.5 from the same fields */
        const struct physics physics = {.beta = BETA, .epsilon = 0.5 / (10 << i), .steps = 10 << i};
        setup_scatter(simulation, simulation->fields.links, LINK_REALS, links);
        setup_scatter(simulation, simulation->fields.momenta, MOMENTUM_REALS, momenta);
        error[i] = -setup_energy(simulation, BETA);
        leapfrog(simulation, &physics);
        error[i] += setup_energy(simulation, BETA);
    }
    for (int i = 0; i < 2; i++) {
        setup_deviation(fabs(error[i] / error[i + 1] - 4), ENERGY_TOLERANCE,
                        "energy error, %s: ratio - 4, %d and %d steps", name, 10 << i, 20 << i);
    }
    free(links);
    free(momenta);
}

int main(int argc, char **argv) {
    const struct physics physics = {.beta = BETA, .epsilon = 0.05, .steps = 10};
    MPI_Init(&argc, &argv);
    for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++) {
        struct simulation simulation;
        setup_make(&simulation, size, *kernels, HALO_ISEND, 1);
        for (int i = 0; i < 10; i++)
            simulation_trajectory(&simulation, &physics);
        setup_deviation(fields_deviation(&simulation.lattice, &simulation.fields),
                        SETUP_ROUNDING / 20, "unitarity after 10 trajectories, %s",
                        (*kernels)->name);
        setup_deviation(simulation.deviation, SIMULATION_DEVIATION / 10,
                        "deviation before reunitarising, %s", (*kernels)->name);
        prove_reversal(&simulation, (*kernels)->name);
        prove_energy(&simulation, (*kernels)->name);
        simulation_free(&simulation);
    }
    return setup_end();
}
