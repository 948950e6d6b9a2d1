/* SPDX-License-Identifier: Apache-2.0 */
/* Streams between rank 0 and the last rank: windows of non-blocking messages, one way and both ways
 * at once. Ranks between the two sleep. */
#include "assay/args.h"
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
    {"iterations", ARG_INTEGER, &settings.iterations, 1, 1000000, NULL,
     "windows a direction and size (default 20)"},
    {"warmup", ARG_INTEGER, &settings.warmup, 1, 1000000, NULL,
     "windows before them, excluded (default 2)"},
    ARG_SEED(&settings.seed, "the order"),
    {"inject-fault", ARG_FLAG, &settings.inject_fault, 0, 0, NULL,
     "alter a byte of each window, which must be noticed (a fault, on purpose)"},
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct window window;
    struct timer timer;
    double *samples;
    int rank;
};

static void choose_ends(struct run *run) {
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fail_all(ranks < 2, PROGRAM, "found %d ranks, allowed are at least 2", ranks);
    int is_end = run->rank == 0 || run->rank == ranks - 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_end ? 0 : MPI_UNDEFINED, run->rank, &run->window.comm);
    if (is_end)
        MPI_Comm_rank(run->window.comm, &run->window.rank);
}

static void prepare(void *context) {
    struct run *run = context;
    char message[256];
    int wrong = sizes_parse(settings.sizes, &run->sizes, message, sizeof message);
    fail_all(wrong, PROGRAM, "option --%s", wrong ? message : "");
    fail_all(run->sizes.bytes[0] == 0, PROGRAM,
             "option --sizes: found 0, allowed are sizes above 0: an empty message has no rate");
    choose_ends(run);
    window_reserve(&run->window, (int)settings.window, run->sizes.bytes[run->sizes.count - 1]);
    run->window.messages = (int)settings.window;
    run->window.inject_fault = settings.inject_fault;
    run->samples = calloc((size_t)settings.iterations, sizeof *run->samples);
    fail_if(!run->samples, PROGRAM, "out of memory: %lld samples", settings.iterations);
    run->timer = timing_choose();
}

/* Seconds a window become bytes/s; the median of rates is taken as that of times. */
static void report_point(struct run *run) {
    const struct window *w = &run->window;
    struct report_position at[] = {{"direction", direction_names[w->both_ways], 0},
                                   {"message_bytes", NULL, w->bytes}};
    double moved = (double)w->messages * w->bytes * (w->both_ways ? 2 : 1);
    double median_s = timing_summarise(run->samples, (int)settings.iterations).median;
    for (long long i = 0; i < settings.iterations; i++)
        run->samples[i] = moved / run->samples[i];
    report_metric_at("window_rate", "bytes/s", moved / median_s, at, 2, run->samples,
                     (size_t)settings.iterations);
}

/* Collective over the two ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations, TIMING_RANK0};
    run->window.both_ways = (int)(point / run->sizes.count);
    run->window.bytes = (int)run->sizes.bytes[point % run->sizes.count];
    if (!(settings.directions >> run->window.both_ways & 1))
        return;
    window_verify(&run->window, (uint64_t)settings.seed + point);
    timing_run(&run->timer, &plan, run->window.comm, window_pass, &run->window, run->samples);
    if (run->rank == 0)
        report_point(run);
}

static void measure(void *context) {
    struct run *run = context;
    if (run->window.comm != MPI_COMM_NULL)
        shuffled_each(DIRECTIONS * run->sizes.count, (uint64_t)settings.seed, measure_point, run);
    rest_until_all(MPI_COMM_WORLD);
}

static void report_notes(const void *context) {
    const struct run *run = context;
    report_timer(&run->timer);
    report_note_text("payload_verified",
                     "the number of every message, and every byte of a window once a point");
}

static void release(void *context) {
    struct run *run = context;
    if (run->window.comm != MPI_COMM_NULL)
        MPI_Comm_free(&run->window.comm);
    sizes_free(&run->sizes);
    window_free(&run->window);
    free(run->samples);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options,      OPTIONS,
                                    prepare, measure, report_notes, release};
    return program_main(&program, &run, argc, argv);
}
