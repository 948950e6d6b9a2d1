/* SPDX-License-Identifier: Apache-2.0 */
/* Streams between rank 0 and the last rank: windows of non-blocking messages, one way and both ways
 * at once. Ranks between the two sleep. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/rest.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "assay/window.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "streams"
#define PURPOSE "windows of messages from rank 0 to the last rank; JSON lines on standard output"
#define DIRECTIONS 2

static const char *const direction_names[DIRECTIONS + 1] = {"one-way", "both-ways", NULL};

static struct {
    unsigned long directions;
    const char *sizes;
    long long window, iterations, warmup, seed;
    int inject_fault;
} settings = {(1UL << DIRECTIONS) - 1, "log:1:1048576:1", 32, 20, 2, 1, 0};

static const struct arg options[] = {
    {"directions", ARG_CHOICES, &settings.directions, 0, 0, direction_names,
     "comma list of one-way and both-ways, or all (default)"},
    ARG_SIZES(&settings.sizes),
    {"window", ARG_INTEGER, &settings.window, 1, 4096, NULL, "messages in flight (default 32)"},
    ARG_ITERATIONS(&settings.iterations, "windows for each direction and size (default 20)"),
    ARG_WARMUP(&settings.warmup, "windows before them, excluded (default 2)"),
    ARG_SEED(&settings.seed, "the order"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each window"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct window window;
    double *samples;
};

static void prepare(void *context) {
    struct run *run = context;
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    fail_all(run->sizes.bytes[0] == 0, PROGRAM,
             "option --sizes: found 0, allowed are sizes above 0: an empty message has no rate");
    fail_all(world.ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", world.ranks);
    window_reserve(&run->window, (int)settings.window, run->sizes.bytes[run->sizes.count - 1]);
    run->window.messages = (int)settings.window;
    run->window.inject_fault = settings.inject_fault;
    run->window.comm = program_ends(&run->window.rank);
    run->samples = buffer_make((size_t)settings.iterations, sizeof *run->samples);
}

/* Collective over the two ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct window *w = &run->window;
    struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations, TIMING_RANK0};
    w->both_ways = (int)(point / run->sizes.count);
    w->bytes = (int)run->sizes.bytes[point % run->sizes.count];
    if (!(settings.directions >> w->both_ways & 1))
        return;
    window_verify(w, (uint64_t)settings.seed + point);
    timing_run(&world.timer, &plan, w->comm, window_pass, w, run->samples);
    if (world.rank != 0)
        return;
    struct report_position at[] = {{"direction", direction_names[w->both_ways], 0},
                                   {"message_bytes", NULL, w->bytes}};
    double moved = (double)w->messages * w->bytes * (w->both_ways ? 2 : 1);
    double median_s = timing_summarise(run->samples, (int)settings.iterations).median;
    for (long long i = 0; i < settings.iterations; i++)
        run->samples[i] = moved / run->samples[i];
    /* The median rate is that of the median time. */
    report_metric("window_rate", "bytes/s", moved / median_s, at, 2, run->samples,
                  (size_t)settings.iterations);
}

static void measure(void *context) {
    struct run *run = context;
    if (run->window.comm != MPI_COMM_NULL)
        shuffled_each(DIRECTIONS * run->sizes.count, (uint64_t)settings.seed, measure_point, run);
    rest_until_all(MPI_COMM_WORLD);
    if (run->window.comm != MPI_COMM_NULL)
        MPI_Comm_free(&run->window.comm);
}

static void report(const void *context) {
    (void)context;
    report_note_text("payload_verified",
                     "the number of every message, and every byte of a window once a point");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
