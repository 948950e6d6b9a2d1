/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "clock.h"

/* Samples of one body of code over one or more processes, and their summary. Seconds; no MPI: the
 * caller supplies the communication. */

/* A timed interval lasts at least this many clock resolutions; shorter calls are timed in batches.
 */
#define TIMING_LEAST_STEPS 100

struct sampling {
    int warmup;                    /* calls before the first sample, at least 1, excluded */
    int iterations;                /* samples */
    void (*before)(void *context); /* untimed, before each sample; may be NULL */
    void (*body)(void *context);   /* what is timed */
    void *context;
    /* Broadcast the batch of the process whose samples count; need not synchronise. */
    void (*agree)(int *batch, void *with);
    void *with;
};

/* Call body warmup times, agree on the batch, call body once more, then take the samples: each is
 * the mean time of a batch of calls. The batch is 1 unless the shortest warm-up call takes less
 * than TIMING_LEAST_STEPS resolutions; it is returned. Every process calls it. */
int timing_sample(const struct timer *timer, const struct sampling *sampling, double *samples);

/* The older method, one interval around a whole loop: mean time of a call over `calls` calls,
 * without warm-up. Local, but body may communicate. */
double timing_loop(const struct timer *timer, long long calls, void (*body)(void *context),
                   void *context);

/* Least, median, mean and greatest of count > 0 samples, which stay in their order. */
struct timing_summary {
    double best, median, mean, worst;
};
struct timing_summary timing_summarise(const double *samples, int count);
