/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_TIMING_H
#define ASSAY_TIMING_H

#include "sampling.h"

#include <mpi.h>

/* The one clock and the one timing loop of all our MPI programs (sampling.h). Seconds throughout.
 */

/* Measure both clocks and choose the finer one, CLOCK_MONOTONIC when equal. MPI must be up; not
 * collective. */
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

/* Collective over comm: run body(context) plan->warmup times, then plan->iterations samples of
 * `batch` calls each, all kept in samples (room for plan->iterations) on rank 0 as seconds a call.
 * The batch is 1 unless the least warm-up call on rank 0 is shorter than TIMING_LEAST_STEPS
 * resolutions; it is returned and is the same on every rank, so body may communicate. */
int timing_run(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
               void (*body)(void *context), void *context, double *samples);

/* The same, with before(context), untimed, before each sample: for what brings the ranks together
 * or must not count. */
int timing_run_after(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
                     void (*before)(void *context), void (*body)(void *context), void *context,
                     double *samples);

#endif
