/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_SAMPLING_H
#define ASSAY_SAMPLING_H

#include "clock.h"

/* How samples are taken, whatever joins the processes that take part; no MPI. Seconds. */

/* A timed interval lasts at least this many resolutions, else calls are timed in batches. */
#define TIMING_LEAST_STEPS 100

struct sampling {
    int warmup;                    /* calls before the first sample, at least 1, excluded */
    int iterations;                /* samples */
    void (*before)(void *context); /* untimed, before each sample */
    void (*body)(void *context);   /* what is timed */
    void *context;
    /* Every process's batch becomes that of the one whose samples count; may run ahead of others.
     */
    void (*agree)(int *batch, void *with);
    void *with;
};

/* Run the body warmup times, agree, run it once more, then take the samples: each the seconds a
 * call over a batch of calls. The batch is 1 unless the least warm-up call is shorter than
 * TIMING_LEAST_STEPS resolutions; it is returned. */
int timing_sample(const struct timer *timer, const struct sampling *sampling, double *samples);

/* The older way, one interval round a whole loop: seconds a call of body over `calls` calls, the
 * first of them included. Not collective by itself; body may communicate. */
double timing_loop(const struct timer *timer, long long calls, void (*body)(void *context),
                   void *context);

#endif
