/* SPDX-License-Identifier: Apache-2.0 */
/* One leapfrog step of every kernel set against the definition: six staples of each link, on the
 * global lattice in plain arrays, Taylor series, without halos and shared products. */
#include "setup.h"

#include <stdlib.h>
#include <string.h>

enum { NX = 4, NY = 2, NZ = 3, NT = 24, SITES = NX * NY * NZ * NT };

static const int size[DIRECTIONS] = {NX, NY, NZ, NT};
static su3 links[SITES][DIRECTIONS];
static real momenta[SITES][DIRECTIONS][MOMENTUM_REALS];

static int step_from(int site, int d, int step) {
    int stride = 1;
    for (int e = 0; e < d; e++)
        stride *= size[e];
    int c = site / stride % size[d];
    return site + ((c + step + size[d]) % size[d] - c) * stride;
}

static su3 staples(int x, int mu) {
    su3 sum, two, three;
    memset(&sum, 0, sizeof sum);
    for (int nu = 0; nu < DIRECTIONS; nu++) {
        int below = step_from(x, nu, -1);
        if (nu == mu)
            continue;
        su3_mul(&two, &links[x][nu], &links[step_from(x, nu, 1)][mu]);
        su3_mul_dag(&three, &two, &links[step_from(x, mu, 1)][nu]);
        su3_add(&sum, &three);
        su3_dag_mul(&two, &links[below][nu], &links[below][mu]);
        su3_mul(&three, &two, &links[step_from(below, mu, 1)][nu]);
        su3_add(&sum, &three);
    }
    return sum;
}

static void move_links(real eps) {
    for (int x = 0; x < SITES; x++)
        for (int mu = 0; mu < DIRECTIONS; mu++)
            su3_exp_mul(&links[x][mu], momenta[x][mu], eps);
}

static void step_by_definition(const struct physics *physics) {
    const real scale = (real)(physics->epsilon * physics->beta / 3);
    move_links((real)physics->epsilon / 2);
    for (int x = 0; x < SITES; x++)
        for (int mu = 0; mu < DIRECTIONS; mu++) {
            su3 sum = staples(x, mu), product;
            real part[MOMENTUM_REALS];
            su3_mul_dag(&product, &links[x][mu], &sum);
            su3_momentum(part, &product);
            for (int i = 0; i < MOMENTUM_REALS; i++)
                momenta[x][mu][i] -= scale * part[i];
        }
    move_links((real)physics->epsilon / 2);
    for (int x = 0; x < SITES; x++)
        for (int mu = 0; mu < DIRECTIONS; mu++)
            su3_reunitarise(&links[x][mu]);
}

static void prove(const struct kernels *kernels, int overlap) {
    const struct physics physics = {.beta = 5.7, .epsilon = 0.1, .steps = 1};
    const long u_count = (long)SITES * DIRECTIONS * LINK_REALS;
    const long p_count = (long)SITES * DIRECTIONS * MOMENTUM_REALS;
    struct simulation simulation;
    double worst = 0;
    setup_make(&simulation, size, kernels, HALO_ISEND, overlap);
    kernels->refresh(&simulation.lattice, &simulation.fields);
    double *u = setup_gather(&simulation, simulation.fields.links, LINK_REALS);
    double *p = setup_gather(&simulation, simulation.fields.momenta, MOMENTUM_REALS);
    for (long i = 0; i < u_count; i++)
        (&links[0][0].e[0][0].re)[i] = (real)u[i];
    for (long i = 0; i < p_count; i++)
        (&momenta[0][0][0])[i] = (real)p[i];
    free(u);
    free(p);
    leapfrog(&simulation, &physics);
    step_by_definition(&physics);
    u = setup_gather(&simulation, simulation.fields.links, LINK_REALS);
    p = setup_gather(&simulation, simulation.fields.momenta, MOMENTUM_REALS);
    for (long i = 0; i < u_count; i++)
        worst = fmax(worst, fabs(u[i] - (double)(&links[0][0].e[0][0].re)[i]));
    for (long i = 0; i < p_count; i++)
        worst = fmax(worst, fabs(p[i] - (double)(&momenta[0][0][0])[i]));
    free(u);
    free(p);
    setup_deviation(worst, SETUP_ROUNDING, "step by definition, %s, overlap %s", kernels->name,
                    overlap ? "yes" : "no");
    simulation_free(&simulation);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    for (const struct kernels **kernels = setup_kernels(); *kernels; kernels++) {
        prove(*kernels, 0);
        prove(*kernels, 1);
    }
    return setup_end();
}
