/* SPDX-License-Identifier: Apache-2.0 */
/* What messages and computing cost each other: a counting loop with and without messages received
 * by its own rank or by another rank of its node, a stream with and without computing neighbours,
 * and how much of an exchange hides behind computing. After Dunigan (ORNL/TM-10881, 1988). */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/sizes.h"
#include "assay/timing.h"
#include "counting.h"
#include "phases.h"

#include <mpi.h>
#include <stdlib.h>

#define PROGRAM "interference"
#define PURPOSE "what messages and computing cost each other; JSON lines on standard output"

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
    {"warmup", ARG_INTEGER, &settings.warmup, 1, 100000, NULL,
     "calls before the first sample, excluded (default 3)"},
    {"window", ARG_INTEGER, &settings.window, 1, 1024, NULL,
     "messages under way at once (default 8)"},
    {"work", ARG_REAL, &settings.work_s, 1e-5, 10, NULL,
     "time of one counting loop, s (default 0.001)"},
    {"inject-fault", ARG_CHOICES, &settings.fault, 0, 0, faults,
     "corrupt a message or a count: the verification must find it (default none)"},
};
#define OPTIONS (sizeof options / sizeof *options)

static void make_buffers(struct traffic *t, size_t greatest_bytes) {
    size_t room = (size_t)t->window * greatest_bytes + 1;
    t->outgoing = malloc(room);
    t->incoming = malloc(room);
    t->requests = malloc(2 * (size_t)t->window * sizeof(MPI_Request));
    fail_if(!t->outgoing || !t->incoming || !t->requests, PROGRAM,
            "out of memory: two buffers of %zu bytes", room);
    for (int i = 0; i < 2 * t->window; i++)
        t->requests[i] = MPI_REQUEST_NULL;
}

static void prepare(struct phases *p, struct sizes *sizes) {
    char message[256];
    int ranks;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    fail_all(ranks < 2, PROGRAM, "found %d rank, allowed are at least 2", ranks);
    int wrong = sizes_parse(settings.sizes, sizes, message, sizeof message);
    fail_all(wrong, PROGRAM, "option --%s", wrong ? message : "");
    p->roles = roles_choose();
    p->plan = (struct timing_plan){(int)settings.warmup, (int)settings.samples, TIMING_RANK0};
    p->timer = timing_choose();
    p->turns = counting_calibrate(settings.work_s);
    p->fault_count = (int)(settings.fault >> 1 & 1);
    p->fault_message = (int)(settings.fault & 1);
    p->traffic.window = (int)settings.window;
    MPI_Comm_rank(p->roles.pair, &p->traffic.rank);
    p->traffic.pair = p->roles.pair;
    make_buffers(&p->traffic, (size_t)sizes->bytes[sizes->count - 1]);
}

static void report_counting(const char *who, const char *messages, long long bytes,
                            double value_s) {
    const struct report_position at[] = {
        {"counting", who, 0}, {"messages", messages, 0}, {"message_bytes", NULL, bytes}};
    report_metric_at("counting_time", "s", value_s, at, 3, NULL, 0);
}

/* A value of every role that took part; the slowed is the worst of its role. */
static void report_roles(const struct outcome *all, int ranks, long long bytes) {
    for (int role = 0; role < ROLES; role++) {
        const struct outcome *worst = NULL;
        for (int rank = 0; rank < ranks; rank++)
            if (all[rank].role == role && all[rank].passing_s > 0 &&
                (!worst ||
                 all[rank].passing_s / all[rank].alone_s > worst->passing_s / worst->alone_s))
                worst = &all[rank];
        if (!worst)
            continue;
        const struct report_position at[] = {{"counting", role_names[role], 0},
                                             {"message_bytes", NULL, bytes}};
        report_counting(role_names[role], "none", bytes, worst->alone_s);
        report_counting(role_names[role], "passing", bytes, worst->passing_s);
        report_metric_at("compute_slowdown", "1", worst->passing_s / worst->alone_s, at, 2, NULL,
                         0);
    }
}

static void report_stream(const char *neighbours, long long bytes, double window_s) {
    const struct report_position at[] = {{"neighbours", neighbours, 0},
                                         {"message_bytes", NULL, bytes}};
    if (bytes > 0)
        report_metric_at("stream_rate", "bytes/s", (double)(settings.window * bytes) / window_s, at,
                         2, NULL, 0);
}

static void report_size(const struct phases *p, const struct outcome *all, long long bytes) {
    const struct report_position at[] = {{"message_bytes", NULL, bytes}};
    report_roles(all, p->roles.ranks, bytes);
    report_metric_at("exchange_time", "s", p->exchange_s, at, 1, NULL, 0);
    report_metric_at("overlap", "1", p->overlap, at, 1, NULL, 0);
    report_metric_at("availability", "1", p->availability, at, 1, NULL, 0);
    report_stream("resting", bytes, p->stream_resting_s);
    if (p->stream_computing_s > 0) {
        report_stream("computing", bytes, p->stream_computing_s);
        report_metric_at("message_slowdown", "1", p->stream_computing_s / p->stream_resting_s, at,
                         1, NULL, 0);
    }
}

static void measure(struct phases *p, const struct sizes *sizes) {
    int ranks = p->roles.ranks;
    struct outcome *all = malloc((size_t)ranks * sizeof *all);
    fail_if(!all, PROGRAM, "out of memory: %d ranks", ranks);
    for (size_t i = 0; i < sizes->count; i++) {
        p->traffic.bytes = (int)sizes->bytes[i];
        p->traffic.seed = 1000003 * (uint64_t)(i + 1);
        struct outcome own = phases_run(p);
        MPI_Gather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, 0, MPI_COMM_WORLD);
        if (p->roles.rank == 0)
            report_size(p, all, sizes->bytes[i]);
    }
    free(all);
}

static void report_notes(const struct phases *p) {
    report_timer(&p->timer);
    report_note_integer("warmup", settings.warmup);
    report_note_integer("ranks", p->roles.ranks);
    report_note_integer("second_endpoint", p->roles.second);
    report_note_integer("turns", (long long)p->turns);
    report_note_text("verified", "every message and every count");
}

int main(int argc, char **argv) {
    struct phases phases = {0};
    struct sizes sizes;
    MPI_Init(&argc, &argv);
    args_read(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    prepare(&phases, &sizes);
    if (phases.roles.rank == 0)
        report_program(PROGRAM, options, OPTIONS);
    measure(&phases, &sizes);
    if (phases.roles.rank == 0) {
        report_notes(&phases);
        report_end(PROGRAM, 1);
    }
    sizes_free(&sizes);
    free(phases.traffic.outgoing);
    free(phases.traffic.incoming);
    free(phases.traffic.requests);
    MPI_Finalize();
    return 0;
}
