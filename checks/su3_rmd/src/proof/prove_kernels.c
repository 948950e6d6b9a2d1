/* SPDX-License-Identifier: Apache-2.0 */
/* Vector kernels against plain ones, part by part, on lattices that lanes divide and on others. */
#include "random.h"
#include "setup.h"

#include <stdlib.h>

static const struct physics physics = {.beta = 6, .epsilon = 0.05, .steps = 5};

struct outcome {
    double *momenta_new, *links, *momenta;
    struct measurement measurement;
};

static struct outcome run(const int size[DIRECTIONS], const struct kernels *kernels, long *count) {
    struct simulation simulation;
    struct outcome outcome;
    setup_make(&simulation, size, kernels, HALO_ISEND, 1);
    kernels->refresh(&simulation.lattice, &simulation.fields);
    kernels->refresh(&simulation.lattice,
                     &simulation.fields); /* twice: the generators are in the same state */
    outcome.momenta_new = setup_gather(&simulation, simulation.fields.momenta, MOMENTUM_REALS);
    leapfrog(&simulation, &physics);
    outcome.links = setup_gather(&simulation, simulation.fields.links, LINK_REALS);
    outcome.momenta = setup_gather(&simulation, simulation.fields.momenta, MOMENTUM_REALS);
    simulation_measure(&simulation, &outcome.measurement);
    *count = lattice_sites(&simulation.lattice) * DIRECTIONS;
    simulation_free(&simulation);
    return outcome;
}

static void outcome_free(struct outcome *outcome) {
    free(outcome->momenta_new);
    free(outcome->links);
    free(outcome->momenta);
}

static void compare(const char *what, const char *name, const int size[DIRECTIONS], double value) {
    setup_deviation(value, SETUP_ROUNDING, "%s against plain, %dx%dx%dx%d: %s", name, size[0],
                    size[1], size[2], size[3], what);
}

int main(int argc, char **argv) {
    static const int sizes[][DIRECTIONS] = {{4, 4, 4, 24}, {3, 5, 2, 12}, {1, 2, 3, 4}};
    MPI_Init(&argc, &argv);
    for (int s = 0; s < 3; s++) {
        long count;
        const struct kernels **kernels = setup_kernels();
        struct outcome plain = run(sizes[s], *kernels, &count);
        while (*++kernels) {
            const char *name = (*kernels)->name;
            struct outcome other = run(sizes[s], *kernels, &count);
            compare("new momenta", name, sizes[s],
                    setup_difference(plain.momenta_new, other.momenta_new, count * MOMENTUM_REALS));
            compare("links", name, sizes[s],
                    setup_difference(plain.links, other.links, count * LINK_REALS));
            compare("momenta", name, sizes[s],
                    setup_difference(plain.momenta, other.momenta, count * MOMENTUM_REALS));
            const struct measurement *a = &plain.measurement, *b = &other.measurement;
            compare("plaquettes and Polyakov loop", name, sizes[s],
                    fmax(fmax(fabs(a->space - b->space), fabs(a->time - b->time)),
                         fmax(fabs(a->line_re - b->line_re), fabs(a->line_im - b->line_im))));
            outcome_free(&other);
        }
        outcome_free(&plain);
    }
    return setup_end();
}
