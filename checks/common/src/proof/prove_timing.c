/* SPDX-License-Identifier: Apache-2.0 */
/* The timing loop on any number of ranks: batch, samples, reduction. */
#include "assay/timing.h"
#include "proof.h"

#include <stdlib.h>

#define SAMPLES 5
#define PLAN(reduction) {2, SAMPLES, reduction}

static double fake_now_s, step_s;
static long calls;

static double fake_now(void) { return fake_now_s; }

static void fake_body(void *context) {
    (void)context;
    fake_now_s += step_s;
    calls++;
}

/* Time calls of call_s seconds with a clock of 1 µs: {batch, number of calls, greatest relative
 * error}. */
static void run_fake(double call_s, enum timing_reduction reduction, double expected,
                     double *result) {
    struct timer timer = {fake_now, 1e-6, "fake"};
    struct timing_plan plan = PLAN(reduction);
    double samples[SAMPLES] = {0};
    step_s = call_s;
    calls = 0;
    result[0] = timing_run(&timer, &plan, MPI_COMM_WORLD, fake_body, NULL, samples);
    result[1] = (double)calls;
    result[2] = 0;
    for (int i = 0; i < SAMPLES; i++)
        result[2] = fmax(result[2], fabs(samples[i] / expected - 1));
}

static int preparations;

static void fake_before(void *context) {
    (void)context;
    fake_now_s += 1; /* must not be counted */
    preparations++;
}

int main(int argc, char **argv) {
    int rank, ranks;
    double fast[3], slow[3], most[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    run_fake(1e-5, TIMING_RANK0, 1e-5, fast);
    run_fake(1e-3, TIMING_RANK0, 1e-3, slow);
    run_fake(1e-3 * (rank + 1), TIMING_MAXIMUM, 1e-3 * ranks, most);
    if (rank == 0) {
        const double numbers[] = {4, 1, 3, 10};
        const struct timing_plan plan = PLAN(TIMING_RANK0);
        struct timing_summary summary = timing_summarise(numbers, 4);
        struct timer timer = timing_choose(), fake = {fake_now, 1e-6, "fake"};
        double samples[SAMPLES] = {0};
        proof_deviation("batch of a 10 us call and a 1 us clock", fast[0], 10, 1);
        proof_deviation("calls: warm-up, one more, batches", fast[1], 3 + SAMPLES * fast[0], 0);
        proof_deviation("relative error of a batched sample", fast[2], 0, 1e-6);
        proof_deviation("batch of a long call", slow[0], 1, 0);
        proof_deviation("relative error of a sample", slow[2], 0, 1e-6);
        proof_deviation("the reduction takes the longest over the ranks", most[2], 0, 1e-6);
        proof_true("resolution between 0 and 1 ms",
                   timer.resolution_s > 0 && timer.resolution_s < 1e-3);
        proof_deviation("best", summary.best, 1, 0);
        proof_deviation("median of an even number", summary.median, 3.5, 0);
        proof_deviation("median of an odd number", timing_summarise(numbers, 3).median, 3, 0);
        proof_deviation("mean", summary.mean, 4.5, 0);
        proof_deviation("worst", summary.worst, 10, 0);
        step_s = 1e-3;
        timing_run_after(&fake, &plan, MPI_COMM_SELF, fake_before, fake_body, NULL, samples);
        proof_deviation("once before each sample", preparations, SAMPLES, 0);
        proof_deviation("and untimed", samples[SAMPLES - 1] / 1e-3, 1, 1e-6);
        proof_deviation("a loop's mean", timing_loop(&fake, 7, fake_body, NULL) / 1e-3, 1, 1e-6);
    }
    MPI_Finalize();
    return proof_status();
}
