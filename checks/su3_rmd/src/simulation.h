/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SU3_SIMULATION_H
#define SU3_SIMULATION_H

#include "halo.h"

/* Pure SU(3) gauge theory with the Wilson action S = -(beta/3) Σ_p Re Tr U_p, by molecular
 * dynamics whose momenta are refreshed for each trajectory (no accept/reject step). */

struct physics {
    double beta;    /* 6/g² */
    double epsilon; /* time step */
    int steps;      /* a trajectory */
};

/* Seconds since simulation_make, by part; what the parts do not cover is set-up and input. */
struct times {
    double refresh_s, dynamics_s, measurement_s, global_sum_s;
};

/* How often each part of the work was done (kernels.h, kernel_costs). */
struct work {
    long steps, drifts, plaquettes;
};

struct simulation {
    struct lattice lattice;
    const struct kernels *kernels;
    struct fields fields;
    struct halo halo;
    MPI_Comm comm;
    int overlap;   /* compute inner sites while messages are under way */
    real *scratch; /* for measurements: 2 numbers a site, or Polyakov lines */
    struct times times;
    struct work work;
    double deviation; /* greatest deviation from unitarity since simulation_make, all ranks */
};

/* Links may deviate from unitarity by this much before a reunitarising; more is an error. */
#define SIMULATION_DEVIATION 1e-4

/* Make everything; lattice has size, procs, rank and ranks set. Collective over comm. 0, or -1 on
 * every rank if memory is out on some. */
int simulation_make(struct simulation *simulation, const struct lattice *lattice,
                    const struct kernels *kernels, enum halo_mode mode, int overlap, MPI_Comm comm);
void simulation_free(struct simulation *simulation);

/* Bytes on this rank, without making it. */
double simulation_bytes(const struct lattice *lattice, const struct kernels *kernels);

/* Refresh the momenta, then `steps` leapfrog steps: U(eps/2), P(eps), U(eps), P(eps), …, U(eps/2),
 * reunitarised after each step. Collective. 0, or -1 on every rank if a link was not unitary. */
int simulation_trajectory(struct simulation *simulation, const struct physics *physics);

struct measurement {
    double space, time;      /* mean plaquettes Re Tr, space-space and space-time, 0 … 3 */
    double line_re, line_im; /* Polyakov loop, mean over space of Tr */
};

/* Collective: every rank gets the same bits, whatever the layout. */
void simulation_measure(struct simulation *simulation, struct measurement *out);

/* Kinetic energy ½ Σ Tr P†P. Collective; plain code. */
double simulation_kinetic(struct simulation *simulation);

#endif
