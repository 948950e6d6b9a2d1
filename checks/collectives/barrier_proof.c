/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "assay/barrier.h"
#include "assay/fail.h"
#include "assay/timing.h"
#include "operations.h"

#include <math.h>
#include <time.h>

/* A descheduled rank reaches the barrier late itself and then waits for less than the delay. So
 * half of the delay is required, in one of several tries, each with twice the delay of the one
 * before: a barrier that does not wait always returns within microseconds. */
#define DELAY_S 0.02
#define TRIES 7

/* 1 if every rank has waited for the late one in one of the tries. Collective over all ranks. */
static int holds_back(const struct exchange *x, int late) {
    int mine = 0, all = 0;
    for (int attempt = 0; attempt < TRIES && !all; attempt++) {
        double delay_s = ldexp(DELAY_S, attempt);
        const struct timespec delay = {(time_t)delay_s, (long)(1e9 * fmod(delay_s, 1))};
        barrier_disseminate(MPI_COMM_WORLD);
        double start = timing_monotonic();
        if (x->rank == late)
            nanosleep(&delay, NULL);
        if (!x->fault)
            x->operation->run(x);
        mine |= x->rank == late || timing_monotonic() - start >= 0.5 * delay_s;
        MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    }
    return all;
}

void barrier_verify(const struct exchange *x) {
    const int late[] = {0, x->ranks / 2, x->ranks - 1};
    for (int turn = 0; turn < 3; turn++) {
        int right = x->ranks == 1 ? !x->fault : holds_back(x, late[turn]);
        fail_answer(!right && x->rank == 0, __func__,
                    "the barrier over %d ranks let ranks leave before rank %d had entered",
                    x->ranks, late[turn]);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
