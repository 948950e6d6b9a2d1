/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include "fail.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More calls in one sample than this mean a body that does nothing. */
#define BATCH_LIMIT 10000

static double wtime(void) { return MPI_Wtime(); }

struct timer timing_choose(void) {
    struct timer ours = {timing_monotonic, timing_resolution(timing_monotonic), "CLOCK_MONOTONIC"};
    struct timer mpi = {wtime, timing_resolution(wtime), "MPI_Wtime"};
    return mpi.resolution_s < 0.5 * ours.resolution_s ? mpi : ours;
}

static int batch_for(const struct timer *timer, double least_call_s) {
    double needed = TIMING_LEAST_STEPS * timer->resolution_s;
    if (least_call_s >= needed)
        return 1;
    if (least_call_s * BATCH_LIMIT <= needed)
        return BATCH_LIMIT;
    return (int)ceil(needed / least_call_s);
}

static void nothing(void *context) { (void)context; }

int timing_run(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
               void (*body)(void *context), void *context, double *samples) {
    return timing_run_after(timer, plan, comm, nothing, body, context, samples);
}

int timing_run_after(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
                     void (*before)(void *context), void (*body)(void *context), void *context,
                     double *samples) {
    double least = DBL_MAX;
    for (int call = 0; call < plan->warmup; call++) {
        double start = timer->now();
        body(context);
        least = fmin(least, timer->now() - start);
    }
    int batch = batch_for(timer, least);
    MPI_Bcast(&batch, 1, MPI_INT, 0, comm);
    body(context); /* the broadcast lets rank 0 run ahead; one more call brings them together */
    for (int sample = 0; sample < plan->iterations; sample++) {
        before(context);
        double start = timer->now();
        for (int call = 0; call < batch; call++)
            body(context);
        samples[sample] = (timer->now() - start) / batch;
    }
    if (plan->reduction == TIMING_MAXIMUM) {
        size_t bytes = (size_t)plan->iterations * sizeof *samples;
        double *own = malloc(bytes);
        fail_if(!own, __func__, "out of memory: %zu bytes", bytes);
        memcpy(own, samples, bytes);
        MPI_Reduce(own, samples, plan->iterations, MPI_DOUBLE, MPI_MAX, 0, comm);
        free(own);
    }
    return batch;
}

double timing_loop(const struct timer *timer, long long calls, void (*body)(void *context),
                   void *context) {
    double start = timer->now();
    for (long long call = 0; call < calls; call++)
        body(context);
    return (timer->now() - start) / (double)calls;
}
