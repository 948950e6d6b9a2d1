/* SPDX-License-Identifier: Apache-2.0 */
/* The total rate of the network: all ranks in random pairs that send to each other at the same
 * time. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/timing.h"
#include "assay/window.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "bisection"
#define PURPOSE                                                                                    \
    "all ranks in random pairs that send at the same time; JSON lines on standard output"

static struct {
    long long message_bytes, window, iterations, warmup, matchings, seed;
    int inject_fault;
} settings = {262144, 8, 10, 2, 10, 1, 0};

static const struct arg options[] = {
    {"message-bytes", ARG_INTEGER, &settings.message_bytes, 1, 1 << 30, NULL,
     "message length, bytes (default 262144)"},
    {"window", ARG_INTEGER, &settings.window, 1, 4096, NULL,
     "messages in flight each way (default 8)"},
    ARG_ITERATIONS(&settings.iterations, "windows for each matching (default 10)"),
    ARG_WARMUP(&settings.warmup, "windows before them, excluded (default 2)"),
    {"matchings", ARG_INTEGER, &settings.matchings, 1, 100000, NULL,
     "random matchings of the ranks (default 10)"},
    ARG_SEED(&settings.seed, "the matchings"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each window"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct window window; /* comm: MPI_COMM_NULL for a rank without a partner */
    double *samples;      /* seconds a window, the longest over the ranks */
    double *rates;        /* of each matching, bytes/s */
    size_t *order;        /* order[2i] and order[2i+1] are a pair */
};

static void prepare(void *context) {
    struct run *run = context;
    fail_all(world.ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", world.ranks);
    window_reserve(&run->window, (int)settings.window, settings.message_bytes);
    run->window.messages = (int)settings.window;
    run->window.bytes = (int)settings.message_bytes;
    run->window.both_ways = 1;
    run->window.inject_fault = settings.inject_fault;
    run->samples = buffer_make((size_t)settings.iterations, sizeof *run->samples);
    run->rates = buffer_make((size_t)settings.matchings, sizeof *run->rates);
    run->order = buffer_make((size_t)world.ranks, sizeof *run->order);
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

static void measure(void *context) {
    struct run *run = context;
    struct window *w = &run->window;
    const struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations,
                                     TIMING_MAXIMUM};
    int last = world.ranks - 1, pairs = world.ranks / 2;
    double moved = 2.0 * pairs * (double)settings.window * (double)settings.message_bytes;
    for (long long matching = 0; matching < settings.matchings; matching++) {
        int pair = MPI_UNDEFINED;
        shuffle(run->order, (size_t)world.ranks, (uint64_t)settings.seed + (uint64_t)matching);
        if (world.ranks % 2 && run->order[last] == 0) {
            run->order[last] = run->order[0]; /* rank 0 times: another rank stays without partner */
            run->order[0] = 0;
        }
        for (int i = 0; i < 2 * pairs; i++)
            if ((int)run->order[i] == world.rank)
                pair = i / 2;
        MPI_Comm_split(MPI_COMM_WORLD, pair, world.rank, &w->comm);
        w->counter = (uint64_t)matching << 32; /* a rank without partner has sent less */
        if (w->comm != MPI_COMM_NULL) {
            MPI_Comm_rank(w->comm, &w->rank);
            window_verify(w, (uint64_t)settings.seed);
        }
        timing_run_after(&world.timer, &plan, MPI_COMM_WORLD, come_together, pass_if_paired, run,
                         run->samples);
        if (w->comm != MPI_COMM_NULL)
            MPI_Comm_free(&w->comm);
        run->rates[matching] =
            moved / timing_summarise(run->samples, (int)settings.iterations).median;
    }
}

static void report(const void *context) {
    const struct run *run = context;
    size_t count = (size_t)settings.matchings;
    struct timing_summary rates = timing_summarise(run->rates, (int)count);
    report_metric("bisection_rate", "bytes/s", rates.median, NULL, 0, run->rates, count);
    report_value("bisection_rate_least", "bytes/s", rates.best, NULL, 0);
    report_note_integer("pairs", world.ranks / 2);
    report_note_text("payload_verified",
                     "the number of every message, and every byte of a window once a matching");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
