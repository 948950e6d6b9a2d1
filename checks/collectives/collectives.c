/* SPDX-License-Identifier: Apache-2.0 */
/* Time of collective operations over all ranks for every message size of a set, in an order
 * shuffled from a seed, by one of two procedures; every result is verified. */
#include "assay/args.h"
#include "assay/barrier.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "operations.h"

#include <mpi.h>

#define PROGRAM "collectives"
#define PURPOSE "time of collective operations over all ranks; JSON lines on standard output"
#define EACH 1UL /* procedure `each` alone */

static const char *const procedures[] = {"each", "loop", NULL};

static struct {
    unsigned long operations, procedure;
    const char *sizes;
    long long repetitions, runs, warmup, seed;
    int inject_fault;
} settings = {(1UL << OPERATIONS) - 1, EACH, "log:4:65536:1", 20, 5, 2, 1, 0};

static const struct arg options[] = {
    {"operations", ARG_CHOICES, &settings.operations, 0, 0, operation_names,
     "comma list of operations, or all (default)"},
    {"sizes", ARG_TEXT, &settings.sizes, 0, 0, NULL,
     "message sizes in bytes, multiples of 4 (MPI_FLOAT): N, FIRST:LAST:STEP, "
     "log:FIRST:LAST:PER_OCTAVE, joined by commas"},
    {"procedure", ARG_CHOICES, &settings.procedure, 0, 0, procedures,
     "each (default): a dissemination barrier before each repetition, maximum over ranks of each "
     "repetition, median over repetitions; loop: barrier, all repetitions in one loop, maximum "
     "over ranks of the mean, median over runs (Hwang, Wang and Wang 1996)"},
    {"repetitions", ARG_INTEGER, &settings.repetitions, 1, 1000000, NULL,
     "repetitions of each point (default 20)"},
    {"runs", ARG_INTEGER, &settings.runs, 1, 1000, NULL,
     "loops of each point (default 5; loop only)"},
    ARG_WARMUP(&settings.warmup,
               "calls before the first repetition, excluded; loop: before each run (default 2)"),
    ARG_SEED(&settings.seed, "the order"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a result"),
};
#define OPTIONS (sizeof options / sizeof *options)

/* A point of the sweep; the barrier has one, of 0 bytes. */
struct point {
    const struct operation *operation;
    long long bytes;
};

struct run {
    struct sizes sizes;
    struct point *points;
    size_t count;
    struct exchange exchange;
    double *samples;
    int samples_count;
    long long batched;
};

static int is_barrier(const struct operation *operation) {
    return operation->result == BLOCKS_NONE;
}

static void prepare(void *context) {
    struct run *run = context;
    struct exchange *x = &run->exchange;
    x->rank = world.rank;
    x->ranks = world.ranks;
    fail_all(settings.procedure & (settings.procedure - 1), PROGRAM,
             "option --procedure: found each,loop, allowed is one of them");
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    for (size_t i = 0; i < run->sizes.count; i++)
        fail_all(run->sizes.bytes[i] < 4 || run->sizes.bytes[i] % 4, PROGRAM,
                 "option --sizes: found %lld, allowed are multiples of 4 from 4 on (MPI_FLOAT)",
                 run->sizes.bytes[i]);
    run->points = buffer_make(OPERATIONS * run->sizes.count, sizeof *run->points);
    for (size_t i = 0; i < OPERATIONS; i++)
        for (size_t size = 0; settings.operations >> i & 1 && size < run->sizes.count; size++) {
            long long bytes = is_barrier(&operations[i]) ? 0 : run->sizes.bytes[size];
            if (size == 0 || bytes > 0)
                run->points[run->count++] = (struct point){&operations[i], bytes};
        }
    size_t greatest = (size_t)run->sizes.bytes[run->sizes.count - 1];
    x->outgoing = buffer_make((size_t)x->ranks, greatest);
    x->incoming = buffer_make((size_t)x->ranks, greatest);
    x->counts = buffer_make((size_t)x->ranks, sizeof *x->counts);
    x->fault = settings.inject_fault;
    run->samples_count = (int)(settings.procedure == EACH ? settings.repetitions : settings.runs);
    run->samples = buffer_make((size_t)run->samples_count, sizeof *run->samples);
}

static void meet(void *context) {
    (void)context;
    barrier_disseminate(MPI_COMM_WORLD);
}

static void call(void *context) {
    const struct exchange *x = context;
    x->operation->run(x);
}

static void meet_and_warm(void *context) {
    MPI_Barrier(MPI_COMM_WORLD);
    for (long long i = 0; i < settings.warmup; i++)
        call(context);
}

static void call_all(void *context) {
    for (long long i = 0; i < settings.repetitions; i++)
        call(context);
}

/* Take the samples: s a call, the longest over the ranks, valid on rank 0. Returns the batch.
 * Collective over all ranks. */
static int sample(struct run *run) {
    struct timing_plan plan = {(int)settings.warmup, run->samples_count, TIMING_MAXIMUM};
    if (settings.procedure == EACH)
        return timing_run_after(&world.timer, &plan, MPI_COMM_WORLD, meet, call, &run->exchange,
                                run->samples);
    plan.warmup = 1;
    int batch = timing_run_after(&world.timer, &plan, MPI_COMM_WORLD, meet_and_warm, call_all,
                                 &run->exchange, run->samples);
    for (int i = 0; i < run->samples_count; i++)
        run->samples[i] /= (double)settings.repetitions;
    return batch;
}

static void measure_point(void *context, size_t item) {
    struct run *run = context;
    const struct point *point = &run->points[item];
    struct exchange *x = &run->exchange;
    x->operation = point->operation;
    x->count = (int)(point->bytes / 4);
    for (int rank = 0; rank < x->ranks; rank++)
        x->counts[rank] = x->count;
    if (is_barrier(x->operation)) {
        barrier_verify(x);
    } else {
        exchange_fill(x);
        x->operation->run(x);
        exchange_verify(x);
    }
    int batch = sample(run);
    if (!is_barrier(x->operation))
        exchange_verify(x); /* the result of the last timed call */
    if (x->rank != 0)
        return;
    const struct report_position at[] = {{"operation", point->operation->name, 0},
                                         {"message_bytes", NULL, point->bytes}};
    struct timing_summary summary = timing_summarise(run->samples, run->samples_count);
    report_metric("collective_time", "s", summary.median, at, 2, run->samples,
                  (size_t)run->samples_count);
    report_value("collective_time_best", "s", summary.best, at, 2);
    run->batched += batch > 1;
}

static void measure(void *context) {
    struct run *run = context;
    shuffled_each(run->count, (uint64_t)settings.seed, measure_point, run);
}

static void report(const void *context) {
    const struct run *run = context;
    report_note_integer("warmup", settings.warmup);
    report_note_integer("order_seed", settings.seed);
    report_note_integer("ranks", run->exchange.ranks);
    report_note_integer("batched_points", run->batched);
    report_note_text("results_verified", "before and after the timed calls of each point");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
