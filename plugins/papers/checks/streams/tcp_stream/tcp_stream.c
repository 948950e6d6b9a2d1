/* SPDX-License-Identifier: Apache-2.0 */
/* A stream of messages over one TCP connection, one way, without MPI, as ttcp sends it: measured,
 * verified and reported as the streams between ranks (streams.c). The listening end sends. */
#include "assay/args.h"
#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/payload.h"
#include "assay/report.h"
#include "assay/sampling.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "sockets/connection.h"
#include "sockets/ends.h"

#define PROGRAM "tcp_stream"
#define PURPOSE "windows of messages over TCP; JSON lines on standard output of the sending end"

static struct {
    const char *sizes;
    long long window, iterations, warmup, seed;
    int inject_fault;
} settings = {"50000", 2048, 5, 1, 1, 0};

static const struct arg options[] = {
    ENDS_OPTIONS,
    ARG_SIZES(&settings.sizes),
    {"window", ARG_INTEGER, &settings.window, 1, 4096, NULL, "messages a window (default 2048)"},
    ARG_ITERATIONS(&settings.iterations, "windows for each size (default 5)"),
    ARG_WARMUP(&settings.warmup, "windows before them, excluded (default 1)"),
    ARG_SEED(&settings.seed, "the order of sizes"),
    ARG_FAULT(&settings.inject_fault, "deliberate fault: corrupt a byte of each window"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    int connection;
    size_t bytes;
    unsigned char *message;
    uint64_t counter; /* messages so far */
    double *samples;
    struct timer timer;
};

/* One window; returns at the sending end when the other one has said that it has all of it. */
static void pass_window(void *context) {
    struct run *run = context;
    char received = 0;
    for (long long i = 0; i < settings.window; i++) {
        run->counter++;
        if (ends_ask()) {
            payload_put(run->message, run->bytes, run->counter);
            connection_send(run->connection, run->message, run->bytes);
            continue;
        }
        connection_receive(run->connection, run->message, run->bytes);
        if (settings.inject_fault && i == 0)
            run->message[0] ^= 1;
        fail_answer(!payload_carries(run->message, run->bytes, run->counter), __func__,
                    "message %llu of %zu bytes is not the one sent",
                    (unsigned long long)run->counter, run->bytes);
    }
    if (ends_ask())
        connection_receive(run->connection, &received, sizeof received);
    else
        connection_send(run->connection, &received, sizeof received);
}

/* One untimed message of a full pattern, every byte verified. */
static void verify(struct run *run, uint64_t seed) {
    if (ends_ask()) {
        payload_pattern(run->message, run->bytes, seed);
        connection_send(run->connection, run->message, run->bytes);
        return;
    }
    connection_receive(run->connection, run->message, run->bytes);
    size_t at = payload_pattern_error(run->message, run->bytes, seed, 0);
    fail_answer(at < run->bytes, __func__, "byte %zu of %zu is not what was sent", at, run->bytes);
}

static void measure_point(void *context, size_t point) {
    struct run *run = context;
    const struct sampling sampling = {.warmup = (int)settings.warmup,
                                      .iterations = (int)settings.iterations,
                                      .body = pass_window,
                                      .context = run,
                                      .agree = ends_agree,
                                      .with = &run->connection};
    const struct report_position at[] = {{"direction", "one-way", 0},
                                         {"message_bytes", NULL, run->sizes.bytes[point]}};
    run->bytes = (size_t)run->sizes.bytes[point];
    run->counter = (uint64_t)point << 32;
    verify(run, (uint64_t)settings.seed + point);
    timing_sample(&run->timer, &sampling, run->samples);
    if (!ends_ask())
        return;
    int count = (int)settings.iterations;
    double moved = (double)settings.window * (double)run->bytes;
    double median_s = timing_summarise(run->samples, count).median;
    for (int i = 0; i < count; i++)
        run->samples[i] = moved / run->samples[i];
    report_metric("window_rate", "bytes/s", moved / median_s, at, 2, run->samples, (size_t)count);
}

int main(int argc, char **argv) {
    struct run run = {0};
    args_read_alone(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    sizes_read(&run.sizes, settings.sizes, PROGRAM);
    fail_if(run.sizes.bytes[0] == 0, PROGRAM,
            "option --sizes: found 0, allowed are sizes above 0: TCP has no empty message");
    run.message = buffer_make((size_t)run.sizes.bytes[run.sizes.count - 1], 1);
    run.samples = buffer_make((size_t)settings.iterations, sizeof *run.samples);
    run.timer = timing_own();
    run.connection = ends_connect(PROGRAM);
    if (ends_ask())
        report_program(PROGRAM, options, OPTIONS);
    shuffled_each(run.sizes.count, (uint64_t)settings.seed, measure_point, &run);
    if (ends_ask()) {
        report_note_text("payload_verified",
                         "the number of every message, and every byte of one a point");
        ends_report(PROGRAM, &run.timer, run.connection);
    }
    return 0;
}
