/* SPDX-License-Identifier: Apache-2.0 */
/* All ranks in random pairs, one of each half with one of the other, that send to each other at
 * once: what the network as a whole carries. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/timing.h"
#include "assay/window.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "bisection"
#define PURPOSE "all ranks in random pairs that send at once; JSON lines on standard output"

static struct {
    long long message_bytes, window, iterations, warmup, matchings, seed;
    int inject_fault;
} settings = {262144, 8, 10, 2, 10, 1, 0};

static const struct arg options[] = {
    {"message-bytes", ARG_INTEGER, &settings.message_bytes, 1, 1 << 30, NULL,
     "message length, bytes (default 262144)"},
    {"window", ARG_INTEGER, &settings.window, 1, 4096, NULL,
     "messages in flight each way (default 8)"},
    {"iterations", ARG_INTEGER, &settings.iterations, 1, 1000000, NULL,
     "windows a matching (default 10)"},
    {"warmup", ARG_INTEGER, &settings.warmup, 1, 1000000, NULL,
     "windows before them, excluded (default 2)"},
    {"matchings", ARG_INTEGER, &settings.matchings, 1, 100000, NULL,
     "random matchings of the two halves (default 10)"},
    ARG_SEED(&settings.seed, "the matchings"),
    {"inject-fault", ARG_FLAG, &settings.inject_fault, 0, 0, NULL,
     "alter a byte of each window, which must be noticed (a fault, on purpose)"},
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct window window; /* comm: MPI_COMM_NULL for a rank without a partner */
    struct timer timer;
    double *samples; /* seconds a window, the longest over the ranks */
    double *rates;   /* one a matching, bytes/s */
    size_t *order;   /* order[2i] and order[2i+1] are a pair */
    int rank, ranks;
};

static void prepare(void *context) {
    struct run *run = context;
    MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &run->ranks);
    fail_all(run->ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", run->ranks);
    window_reserve(&run->window, (int)settings.window, settings.message_bytes);
    run->window.messages = (int)settings.window;
    run->window.bytes = (int)settings.message_bytes;
    run->window.both_ways = 1;
    run->window.inject_fault = settings.inject_fault;
    run->samples = calloc((size_t)settings.iterations, sizeof *run->samples);
    run->rates = calloc((size_t)settings.matchings, sizeof *run->rates);
    run->order = calloc((size_t)run->ranks, sizeof *run->order);
    fail_if(!run->samples || !run->rates || !run->order, PROGRAM, "out of memory: %d ranks",
            run->ranks);
    run->timer = timing_choose();
}

/* Rank 0 times, so of an odd number another rank must be the one without a partner. */
static void keep_rank_0_paired(size_t *order, size_t ranks) {
    if (ranks % 2 == 0 || order[ranks - 1] != 0)
        return;
    order[ranks - 1] = order[0];
    order[0] = 0;
}

static void match(struct run *run, uint64_t seed) {
    int pair = MPI_UNDEFINED;
    shuffle(run->order, (size_t)run->ranks, seed);
    keep_rank_0_paired(run->order, (size_t)run->ranks);
    for (int i = 0; i < run->ranks / 2 * 2; i++)
        if ((int)run->order[i] == run->rank)
            pair = i / 2;
    MPI_Comm_split(MPI_COMM_WORLD, pair, run->rank, &run->window.comm);
    if (run->window.comm != MPI_COMM_NULL)
        MPI_Comm_rank(run->window.comm, &run->window.rank);
}

static void come_together(void *context) {
    (void)context;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void pass_if_paired(void *context) {
    struct run *run = context;
    if (run->window.comm != MPI_COMM_NULL)
        window_pass(&run->window);
}

/* Total rate of one matching on rank 0, bytes/s, both directions of every pair counted. */
static double measure_matching(struct run *run, long long matching) {
    struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations, TIMING_MAXIMUM};
    match(run, (uint64_t)settings.seed + (uint64_t)matching);
    run->window.counter = (uint64_t)matching << 32; /* one rank may have sat out */
    if (run->window.comm != MPI_COMM_NULL)
        window_verify(&run->window, (uint64_t)settings.seed);
    timing_run_after(&run->timer, &plan, MPI_COMM_WORLD, come_together, pass_if_paired, run,
                     run->samples);
    if (run->window.comm != MPI_COMM_NULL)
        MPI_Comm_free(&run->window.comm);
    double moved =
        2.0 * (run->ranks / 2) * (double)settings.window * (double)settings.message_bytes;
    return moved / timing_summarise(run->samples, (int)settings.iterations).median;
}

static void measure(void *context) {
    struct run *run = context;
    for (long long matching = 0; matching < settings.matchings; matching++)
        run->rates[matching] = measure_matching(run, matching);
}

static void report_notes(const void *context) {
    const struct run *run = context;
    size_t count = (size_t)settings.matchings;
    struct timing_summary rates = timing_summarise(run->rates, (int)count);
    report_metric_at("bisection_rate", "bytes/s", rates.median, NULL, 0, run->rates, count);
    report_metric_at("bisection_rate_least", "bytes/s", rates.best, NULL, 0, NULL, 0);
    report_note_integer("pairs", run->ranks / 2);
    report_timer(&run->timer);
    report_note_text("payload_verified",
                     "the number of every message, and every byte of a window once a matching");
}

static void release(void *context) {
    struct run *run = context;
    window_free(&run->window);
    free(run->samples);
    free(run->rates);
    free(run->order);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options,      OPTIONS,
                                    prepare, measure, report_notes, release};
    return program_main(&program, &run, argc, argv);
}
