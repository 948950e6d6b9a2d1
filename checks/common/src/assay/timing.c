/* SPDX-License-Identifier: Apache-2.0 */
#include "timing.h"

#include "buffer.h"

#include <stdlib.h>
#include <string.h>

static double wtime(void) { return MPI_Wtime(); }

struct timer timing_choose(void) {
    struct timer ours = timing_own();
    struct timer mpi = {wtime, timing_resolution(wtime), "MPI_Wtime"};
    return mpi.resolution_s < 0.5 * ours.resolution_s ? mpi : ours;
}

static void agree(int *batch, void *comm) { MPI_Bcast(batch, 1, MPI_INT, 0, *(MPI_Comm *)comm); }

int timing_run(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
               void (*body)(void *context), void *context, double *samples) {
    return timing_run_after(timer, plan, comm, NULL, body, context, samples);
}

int timing_run_after(const struct timer *timer, const struct timing_plan *plan, MPI_Comm comm,
                     void (*before)(void *context), void (*body)(void *context), void *context,
                     double *samples) {
    const struct sampling sampling = {plan->warmup, plan->iterations, before, body, context, agree,
                                      &comm};
    int batch = timing_sample(timer, &sampling, samples);
    if (plan->reduction == TIMING_MAXIMUM) {
        size_t count = (size_t)plan->iterations;
        double *own = buffer_make(count, sizeof *own);
        memcpy(own, samples, count * sizeof *own);
        MPI_Reduce(own, samples, plan->iterations, MPI_DOUBLE, MPI_MAX, 0, comm);
        free(own);
    }
    return batch;
}
