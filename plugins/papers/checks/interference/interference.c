/* SPDX-License-Identifier: Apache-2.0 */
/* Interference of messages and computing: a counting loop with and without messages received by its
 * own rank or by another rank of its node, a stream with and without computing neighbours, and the
 * overlap of an exchange with computing. After Dunigan (ORNL/TM-10881, 1988). */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "counting.h"
#include "phases.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "interference"
#define PURPOSE "interference of messages and computing; JSON lines on standard output"

static const char *const faults[] = {"message", "count", NULL};

static struct {
    const char *sizes;
    long long samples, warmup, window;
    double work_s;
    unsigned long fault;
} settings = {"1,64,1024,16384,65536,262144", 20, 3, 8, 1e-3, 0};

static const struct arg options[] = {
    ARG_SIZES(&settings.sizes),
    {"samples", ARG_INTEGER, &settings.samples, 3, 100000, NULL,
     "samples of each quantity and size (default 20)"},
    ARG_WARMUP(&settings.warmup, "calls before the first sample, excluded (default 3)"),
    {"window", ARG_INTEGER, &settings.window, 1, 1024, NULL, "messages in flight (default 8)"},
    {"work", ARG_REAL, &settings.work_s, 1e-5, 10, NULL,
     "duration of one counting loop, s (default 0.001)"},
    {"inject-fault", ARG_CHOICES, &settings.fault, 0, 0, faults,
     "deliberate fault: corrupt a message or a count (default none)"},
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct phases phases;
};

static void prepare(void *context) {
    struct run *run = context;
    struct phases *p = &run->phases;
    struct traffic *t = &p->traffic;
    fail_all(world.ranks < 2, PROGRAM, "found %d rank, allowed are at least 2", world.ranks);
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    p->roles = roles_choose();
    p->plan = (struct timing_plan){(int)settings.warmup, (int)settings.samples, TIMING_RANK0};
    p->timer = world.timer;
    p->turns = counting_calibrate(settings.work_s);
    p->fault_count = (int)(settings.fault >> 1 & 1);
    p->fault_message = (int)(settings.fault & 1);
    size_t window = (size_t)settings.window;
    size_t greatest = (size_t)run->sizes.bytes[run->sizes.count - 1];
    t->window = (int)settings.window;
    t->pair = p->roles.pair;
    MPI_Comm_rank(t->pair, &t->rank);
    t->outgoing = buffer_make(window, greatest);
    t->incoming = buffer_make(window, greatest);
    t->requests = buffer_make(2 * window, sizeof *t->requests);
    for (size_t i = 0; i < 2 * window; i++)
        t->requests[i] = MPI_REQUEST_NULL;
}

static void report_stream(const char *neighbours, long long bytes, double window_s) {
    const struct report_position at[] = {{"neighbours", neighbours, 0},
                                         {"message_bytes", NULL, bytes}};
    if (bytes > 0)
        report_value("stream_rate", "bytes/s", (double)(settings.window * bytes) / window_s, at, 2);
}

/* Rank 0: of every role the rank with the greatest slowdown; then what the endpoints measured. */
static void report_size(const struct phases *p, const struct outcome *all, long long bytes) {
    const struct report_position size = {"message_bytes", NULL, bytes};
    for (int role = 0; role < ROLES; role++) {
        const struct outcome *worst = NULL;
        for (int rank = 0; rank < p->roles.ranks; rank++)
            if (all[rank].role == role && all[rank].passing_s > 0 &&
                (!worst ||
                 all[rank].passing_s / all[rank].alone_s > worst->passing_s / worst->alone_s))
                worst = &all[rank];
        if (!worst)
            continue;
        const struct report_position counting = {"counting", role_names[role], 0};
        const struct report_position none[] = {counting, {"messages", "none", 0}, size};
        const struct report_position passing[] = {counting, {"messages", "passing", 0}, size};
        const struct report_position at[] = {counting, size};
        report_value("counting_time", "s", worst->alone_s, none, 3);
        report_value("counting_time", "s", worst->passing_s, passing, 3);
        report_value("compute_slowdown", "1", worst->passing_s / worst->alone_s, at, 2);
    }
    report_value("exchange_time", "s", p->exchange_s, &size, 1);
    report_value("overlap", "1", p->overlap, &size, 1);
    report_value("availability", "1", p->availability, &size, 1);
    report_stream("resting", bytes, p->stream_resting_s);
    if (p->stream_computing_s > 0) {
        report_stream("computing", bytes, p->stream_computing_s);
        report_value("message_slowdown", "1", p->stream_computing_s / p->stream_resting_s, &size,
                     1);
    }
}

static void measure(void *context) {
    struct run *run = context;
    struct phases *p = &run->phases;
    struct outcome *all = buffer_make((size_t)p->roles.ranks, sizeof *all);
    for (size_t i = 0; i < run->sizes.count; i++) {
        p->traffic.bytes = (int)run->sizes.bytes[i];
        p->traffic.seed = 1000003 * (uint64_t)(i + 1);
        struct outcome own = phases_run(p);
        MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (p->roles.rank == 0)
            report_size(p, all, run->sizes.bytes[i]);
    }
    free(all);
}

static void report(const void *context) {
    const struct phases *p = &((const struct run *)context)->phases;
    report_note_integer("warmup", settings.warmup);
    report_note_integer("ranks", p->roles.ranks);
    report_note_integer("second_endpoint", p->roles.second);
    report_note_integer("turns", (long long)p->turns);
    report_note_text("verified", "every message and every count");
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
