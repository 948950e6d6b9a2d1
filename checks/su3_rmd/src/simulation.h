/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "halo.h"

/* Pure SU(3) gauge theory with the Wilson action S = -(beta/3) Σ_p Re Tr U_p, by molecular dynamics
 * with new momenta for each trajectory (no accept/reject step). */

struct physics {
    double beta;    /* 6/g² */
    double epsilon; /* time step */
    int steps;      /* a trajectory */
};

/* s since simulation_make by part; set-up and input are not included. */
struct times {
    double refresh_s, dynamics_s, measurement_s, global_sum_s;
};

/* Executions of each part of the work (kernels.h, kernel_costs). */
struct work {
    long steps, drifts, plaquettes;
};

struct simulation {
    struct lattice lattice;
    const struct kernels *kernels;
    struct fields fields;
    struct halo halo;
    MPI_Comm comm;
    int overlap;   /* compute inner sites while messages are in flight */
    real *scratch; /* for measurements: 2 reals a site, or Polyakov lines */
    struct times times;
    struct work work;
    double deviation; /* greatest deviation from unitarity since simulation_make, all ranks */
};

/* The greatest allowed deviation from unitarity before reunitarising. */
#define SIMULATION_DEVIATION 1e-4

/* lattice has size, procs, rank and ranks set. 0, or -1 on every rank if one is out of memory.
 * Collective over comm. */
int simulation_make(struct simulation *simulation, const struct lattice *lattice,
                    const struct kernels *kernels, enum halo_mode mode, int overlap, MPI_Comm comm);
void simulation_free(struct simulation *simulation);

/* The bytes that simulation_make allocates on this rank. Local. */
double simulation_bytes(const struct lattice *lattice, const struct kernels *kernels);

/* Refresh the momenta, then run the leapfrog (leapfrog.h). 0, or -1 on every rank if a link
 * deviated from unitarity by more than SIMULATION_DEVIATION. Collective over simulation->comm. */
int simulation_trajectory(struct simulation *simulation, const struct physics *physics);

struct measurement {
    double space, time;      /* mean plaquettes Re Tr, space-space and space-time, 0 … 3 */
    double line_re, line_im; /* Polyakov loop, mean over space of Tr */
};

/* Every rank gets the same bits, in every layout. Collective over simulation->comm. */
void simulation_measure(struct simulation *simulation, struct measurement *out);

/* Kinetic energy ½ Σ Tr P†P, by plain code. Collective over simulation->comm. */
double simulation_kinetic(struct simulation *simulation);
