/* SPDX-License-Identifier: Apache-2.0 */
/* Cholesky factorisation of a dense matrix by columns over all ranks (factor.h). */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/timing.h"
#include "factor.h"

#include <mpi.h>

#define PROGRAM "cholesky"
#define PURPOSE "Cholesky factorisation by columns; JSON lines on standard output"
#define GREATEST_RESIDUAL 16.0

static struct {
    long long n, repetitions, seed;
    int inject_fault;
} settings = {300, 5, 1, 0};

static const struct arg options[] = {
    {"n", ARG_INTEGER, &settings.n, 2, 100000, NULL, "order of the matrix (default 300)"},
    {"repetitions", ARG_INTEGER, &settings.repetitions, 1, 10000, NULL,
     "factorisations after one that is left out (default 5)"},
    ARG_SEED(&settings.seed, "the matrix"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt an element of the factor"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct factor factor;
    double residual;
    double *samples;
};

static void prepare(void *context) {
    struct run *run = context;
    factor_make(&run->factor, MPI_COMM_WORLD, (int)settings.n, (uint64_t)settings.seed);
    run->samples = buffer_make((size_t)settings.repetitions, sizeof *run->samples);
}

static void measure(void *context) {
    struct run *run = context;
    struct factor *f = &run->factor;
    for (int i = -1; i < (int)settings.repetitions; i++) {
        factor_fill(f);
        MPI_Barrier(MPI_COMM_WORLD);
        double start = world.timer.now();
        factor_columns(f);
        double own = world.timer.now() - start, longest = 0;
        MPI_Reduce(&own, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (i >= 0)
            run->samples[i] = longest;
    }
    if (settings.inject_fault && f->columns > 0)
        f->own[f->n - 1] += 1;
    run->residual = factor_residual(f);
    fail_answer(world.rank == 0 && !(run->residual < GREATEST_RESIDUAL), PROGRAM,
                "the residual is %g, allowed is below %g", run->residual, GREATEST_RESIDUAL);
    if (world.rank != 0)
        return;
    int count = (int)settings.repetitions;
    double n = (double)settings.n, operations = n * n * n / 3 + n * n / 2 + n / 6;
    double median_s = timing_summarise(run->samples, count).median;
    report_metric("factor_time", "s", median_s, NULL, 0, run->samples, (size_t)count);
    report_value("factor_rate", "flop/s", operations / median_s, NULL, 0);
    report_value("residual", "1", run->residual, NULL, 0);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, NULL};
    return program_main(&program, &run, argc, argv);
}
