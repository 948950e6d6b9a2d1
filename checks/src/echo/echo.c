/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between rank 0 and the last rank, or of a rank with itself where there is but one: half
 * round trips by the two methods of T. H. Dunigan and J. Dongarra (ORNL/TM-13018, 1996), each round
 * trip timed, and one interval round the whole loop. Ranks between the two sleep. */
#include "common/args.h"
#include "common/fail.h"
#include "common/pingpong.h"
#include "common/program.h"
#include "common/report.h"
#include "common/rest.h"
#include "common/shuffle.h"
#include "common/sizes.h"
#include "common/timing.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "echo"
#define PURPOSE "echo between rank 0 and the last rank; JSON lines on standard output"

static struct {
    const char *sizes;
    long long iterations, warmup, seed;
    int inject_fault;
} settings = {"0,log:1:4194304:2,1000000", 100, 10, 1, 0};

static const struct arg options[] = {
    ARG_SIZES(&settings.sizes),
    {"iterations", ARG_INTEGER, &settings.iterations, 1, 1000000, NULL,
     "round trips a size by each method (default 100)"},
    {"warmup", ARG_INTEGER, &settings.warmup, 1, 1000000, NULL,
     "round trips before them, excluded (default 10)"},
    ARG_SEED(&settings.seed, "the order of sizes"),
    {"inject-fault", ARG_FLAG, &settings.inject_fault, 0, 0, NULL,
     "alter a byte of each reply, which must be noticed (a fault, on purpose)"},
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct pingpong pingpong;
    struct timer timer;
    double *samples;
    int rank;
};

/* The two ends get a communicator of their own, the ranks between them MPI_COMM_NULL. */
static void choose_ends(struct run *run) {
    int ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &run->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int is_end = run->rank == 0 || run->rank == ranks - 1;
    MPI_Comm_split(MPI_COMM_WORLD, is_end ? 0 : MPI_UNDEFINED, run->rank, &run->pingpong.comm);
    if (is_end)
        MPI_Comm_rank(run->pingpong.comm, &run->pingpong.rank);
    run->pingpong.alone = ranks == 1;
    run->pingpong.construct = &constructs[0];
    run->pingpong.inject_fault = settings.inject_fault;
}

static void prepare(void *context) {
    struct run *run = context;
    char message[256];
    int wrong = sizes_parse(settings.sizes, &run->sizes, message, sizeof message);
    fail_all(wrong, PROGRAM, "option --%s", wrong ? message : "");
    choose_ends(run);
    size_t room = (size_t)run->sizes.bytes[run->sizes.count - 1] + 1;
    run->pingpong.outgoing = malloc(room);
    run->pingpong.incoming = malloc(room);
    run->samples = calloc((size_t)settings.iterations, sizeof *run->samples);
    fail_if(!run->pingpong.outgoing || !run->pingpong.incoming || !run->samples, PROGRAM,
            "out of memory: two buffers of %zu bytes", room);
    memset(run->pingpong.outgoing, 0, room); /* touched: no page fault inside a timed interval */
    memset(run->pingpong.incoming, 0, room);
    run->timer = timing_choose();
}

static void report_rates(const struct report_position *at, struct timing_summary t, double loop_s) {
    double bytes = (double)at->integer;
    report_metric_at("bandwidth", "bytes/s", bytes / t.median, at, 1, NULL, 0);
    report_metric_at("bandwidth_best", "bytes/s", bytes / t.best, at, 1, NULL, 0);
    report_metric_at("bandwidth_loop", "bytes/s", bytes / loop_s, at, 1, NULL, 0);
}

/* samples and loop_s are whole round trips. */
static void report_point(struct run *run, long long bytes, double loop_s) {
    struct report_position at = {"message_bytes", NULL, bytes};
    size_t count = (size_t)settings.iterations;
    for (size_t i = 0; i < count; i++)
        run->samples[i] *= 0.5;
    struct timing_summary t = timing_summarise(run->samples, (int)count);
    report_metric_at("half_round_trip", "s", t.median, &at, 1, run->samples, count);
    report_metric_at("half_round_trip_best", "s", t.best, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_mean", "s", t.mean, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_worst", "s", t.worst, &at, 1, NULL, 0);
    report_metric_at("half_round_trip_loop", "s", 0.5 * loop_s, &at, 1, NULL, 0);
    if (bytes > 0) {
        report_rates(&at, t, 0.5 * loop_s);
    } else {
        report_metric("echo_latency", "s", t.median, NULL, NULL, 0);
        report_metric("echo_latency_least", "s", t.best, NULL, NULL, 0);
    }
}

/* Collective over the two ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations, TIMING_RANK0};
    struct pingpong *pingpong = &run->pingpong;
    pingpong->bytes = (int)run->sizes.bytes[point];
    pingpong->counter = (uint64_t)point << 32;
    pingpong_verify(pingpong, (uint64_t)settings.seed + point);
    timing_run(&run->timer, &plan, pingpong->comm, pingpong_round_trip, pingpong, run->samples);
    double loop_s = timing_loop(&run->timer, settings.iterations, pingpong_round_trip, pingpong);
    if (run->rank == 0)
        report_point(run, run->sizes.bytes[point], loop_s);
}

static void measure(void *context) {
    struct run *run = context;
    if (run->pingpong.comm != MPI_COMM_NULL)
        shuffled_each(run->sizes.count, (uint64_t)settings.seed, measure_point, run);
    rest_until_all(MPI_COMM_WORLD);
}

static void report_notes(const void *context) {
    const struct run *run = context;
    report_timer(&run->timer);
    report_note_text("buffers", "reused");
    report_note_text("payload_verified", "every reply, and every byte once a size");
}

static void release(void *context) {
    struct run *run = context;
    if (run->pingpong.comm != MPI_COMM_NULL)
        MPI_Comm_free(&run->pingpong.comm);
    sizes_free(&run->sizes);
    free(run->pingpong.outgoing);
    free(run->pingpong.incoming);
    free(run->samples);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options,      OPTIONS,
                                    prepare, measure, report_notes, release};
    return program_main(&program, &run, argc, argv);
}
