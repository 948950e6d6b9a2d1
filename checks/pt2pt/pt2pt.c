/* SPDX-License-Identifier: Apache-2.0 */
/* Ping-pong between two ranks: half round trip and bandwidth for every way to send and receive and
 * every message size of a set, in an order shuffled from a seed. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/constructs.h"
#include "assay/fail.h"
#include "assay/pingpong.h"
#include "assay/program.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "assay/timing.h"

#include <mpi.h>

#define PROGRAM "pt2pt"
#define PURPOSE "ping-pong between exactly two ranks; JSON lines on standard output"

static struct {
    unsigned long constructs;
    const char *sizes;
    long long iterations, warmup, seed;
    int reply_before_wait;
} settings = {
    (1UL << CONSTRUCTS) - 1, "300:4800:300,5000:100000:5000,200000:2000000:100000", 100, 10, 1, 0};

static const struct arg options[] = {
    {"constructs", ARG_CHOICES, &settings.constructs, 0, 0, construct_names,
     "comma list of SEND/RECEIVE, or all (default)"},
    ARG_SIZES(&settings.sizes),
    ARG_ITERATIONS(&settings.iterations, "samples of each construct and size (default 100)"),
    ARG_WARMUP(&settings.warmup, "round trips before the first sample, excluded (default 10)"),
    ARG_SEED(&settings.seed, "the order"),
    {"reply-before-wait", ARG_FLAG, &settings.reply_before_wait, 0, 0, NULL,
     "deliberate fault: the answerer replies before it waits (Irecv constructs only)"},
};
#define OPTIONS (sizeof options / sizeof *options)

/* The points of a run are all pairs of a chosen construct and a size. */
struct run {
    struct sizes sizes;
    size_t chosen[CONSTRUCTS], chosen_count;
    unsigned char *outgoing, *incoming;
    double *samples;
    long long stale, batched;
};

static void prepare(void *context) {
    struct run *run = context;
    fail_all(world.ranks != 2, PROGRAM, "found %d ranks, allowed are exactly 2", world.ranks);
    for (size_t i = 0; i < CONSTRUCTS; i++) {
        if (!(settings.constructs >> i & 1))
            continue;
        fail_all(settings.reply_before_wait && !constructs[i].receive_posted, PROGRAM,
                 "option --reply-before-wait: found construct %s, allowed are constructs with "
                 "Irecv (a blocking receive cannot reply first): say --constructs",
                 constructs[i].name);
        run->chosen[run->chosen_count++] = i;
    }
    sizes_read(&run->sizes, settings.sizes, PROGRAM);
    size_t greatest = (size_t)run->sizes.bytes[run->sizes.count - 1];
    run->outgoing = buffer_make(greatest, 1);
    run->incoming = buffer_make(greatest, 1);
    run->samples = buffer_make((size_t)settings.iterations, sizeof *run->samples);
}

static void measure_point(void *context, size_t point) {
    struct run *run = context;
    const struct construct *construct = &constructs[run->chosen[point / run->sizes.count]];
    long long bytes = run->sizes.bytes[point % run->sizes.count];
    struct pingpong pingpong = {.construct = construct,
                                .comm = MPI_COMM_WORLD,
                                .rank = world.rank,
                                .bytes = (int)bytes,
                                .outgoing = run->outgoing,
                                .incoming = run->incoming,
                                .counter = (uint64_t)point << 32};
    struct timing_plan plan = {(int)settings.warmup, (int)settings.iterations, TIMING_RANK0};
    pingpong_verify(&pingpong, (uint64_t)settings.seed + point);
    pingpong.reply_before_wait = settings.reply_before_wait;
    int batch = timing_run(&world.timer, &plan, MPI_COMM_WORLD, pingpong_round_trip, &pingpong,
                           run->samples);
    run->stale += pingpong.stale;
    if (world.rank != 0)
        return;
    struct report_position at[] = {{"construct", construct->name, 0},
                                   {"message_bytes", NULL, bytes}};
    struct timing_summary summary =
        report_round_trips(at, 2, run->samples, (size_t)settings.iterations);
    report_bandwidths(at, 2, bytes, summary);
    if (batch > 1) {
        struct json note;
        json_begin(&note);
        json_string(&note, "construct", construct->name);
        json_integer(&note, "message_bytes", bytes);
        json_integer(&note, "round_trips", batch);
        report_note_object("batch", &note);
        run->batched++;
    }
}

static void measure(void *context) {
    struct run *run = context;
    shuffled_each(run->chosen_count * run->sizes.count, (uint64_t)settings.seed, measure_point,
                  run);
}

static void report(const void *context) {
    const struct run *run = context;
    report_note_integer("warmup", settings.warmup);
    report_note_integer("order_seed", settings.seed);
    report_note_integer("batched_points", run->batched);
    report_note_text("buffers", "reused");
    if (!settings.reply_before_wait) {
        report_note_text("payload_verified",
                         "every reply, and every byte once a construct and size");
    } else {
        report_note_integer("stale_replies", run->stale);
        report_note_text("invalid", "reply-before-wait");
    }
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
