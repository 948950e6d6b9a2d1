/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "sampling.h"

#include <mpi.h>

/* The clock and the timing loop of all our MPI programs (sampling.h). Seconds. */

/* MPI_Wtime if its resolution is less than half that of CLOCK_MONOTONIC, else the latter. Local;
 * MPI must be up. */
struct timer timing_choose(void);

enum timing_reduction {
    TIMING_RANK0,  /* the samples are those of rank 0 of the communicator */
    TIMING_MAXIMUM /* each sample is the longest over the ranks */
};

struct timing_plan {
    int warmup;     /* calls before the first sample, at least 1, excluded */
    int iterations; /* samples */
    enum timing_reduction reduction;
};

/* timing_sample over the ranks of comm: warm up, then take plan->iterations samples of
 * body(context), reduced to rank 0 as the plan says; on the other ranks samples (room for
 * plan->iterations) holds their own. Returns the batch, rank 0's on every rank, so that body may
 * communicate. Collective over comm. */
int timing_run(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
               void (*body)(void *context), void *context, double *samples);

/* The same with before(context), untimed, before each sample. */
int timing_run_after(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
                     void (*before)(void *context), void (*body)(void *context), void *context,
                     double *samples);
