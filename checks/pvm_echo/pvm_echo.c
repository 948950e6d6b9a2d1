/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between two PVM tasks: half round trip and bandwidth for every protocol and message size,
 * in an order shuffled from a seed; where the time of a round trip goes; the price of a copy. */
#include "assay/args.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/shuffle.h"
#include "assay/sizes.h"
#include "echo.h"
#include "pvm/partner.h"
#include "pvm/pvm_fail.h"
#include "pvm/witness.h"

#include <pvm3.h>
#include <stdlib.h>
#include <string.h>

#define PROGRAM "pvm_echo"
#define PURPOSE "echo between two PVM tasks; JSON lines on standard output"

static struct {
    unsigned long protocols, element;
    const char *sizes;
    long long iterations, warmup, seed;
    int daemon_route, within_node, inject_fault;
} settings = {
    (1UL << PROTOCOLS) - 1, 1UL << (ELEMENTS - 1), "0,1024,65536,1048576", 100, 10, 1, 0, 0, 0};

static const struct arg options[] = {
    {"constructs", ARG_CHOICES, &settings.protocols, 0, 0, protocol_names,
     "comma list of protocols, or all (default)"},
    {"element", ARG_CHOICES, &settings.element, 0, 0, element_names,
     "the type that encoded messages are packed as (default double)"},
    {"sizes", ARG_TEXT, &settings.sizes, 0, 0, NULL,
     "message sizes in bytes: N, FIRST:LAST:STEP, log:FIRST:LAST:PER_OCTAVE, joined by commas"},
    {"iterations", ARG_INTEGER, &settings.iterations, 1, 1000000, NULL,
     "samples a protocol and size (default 100)"},
    {"warmup", ARG_INTEGER, &settings.warmup, 1, 1000000, NULL,
     "round trips before the first sample, excluded (default 10)"},
    {"seed", ARG_INTEGER, &settings.seed, 0, 9007199254740991.0, NULL,
     "seed of the order (default 1)"},
    {"daemon-route", ARG_FLAG, &settings.daemon_route, 0, 0, NULL,
     "messages through the daemons instead of a direct connection of the tasks"},
    {"within-node", ARG_FLAG, &settings.within_node, 0, 0, NULL, "both tasks on one host"},
    {"inject-fault", ARG_FLAG, &settings.inject_fault, 0, 0, NULL,
     "the partner spoils a byte of its answers (a fault, which must be caught)"},
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct echo echo;
    double *samples, *steps[ECHO_STEPS];
    int is_partner;
};

static void read_options(int argc, char **argv) {
    char message[1024];
    enum args_result result = args_parse(options, OPTIONS, argc, argv, message, sizeof message);
    fail_if(result == ARGS_WRONG, PROGRAM, "%s", message);
    if (result == ARGS_HELP) {
        args_help(PROGRAM, PURPOSE, options, OPTIONS);
        exit(0);
    }
}

static const struct element *chosen_element(void) {
    const struct element *chosen = NULL;
    for (size_t i = 0; i < ELEMENTS; i++)
        if (settings.element == 1UL << i)
            chosen = &elements[i];
    fail_if(!chosen, PROGRAM, "option --element: found several, allowed is one");
    return chosen;
}

static void *room_for(size_t bytes) {
    void *room = malloc(bytes);
    fail_if(!room, PROGRAM, "out of memory: %zu bytes", bytes);
    return memset(room, 0, bytes); /* touched: no page fault inside a timed interval */
}

static void prepare(struct run *run) {
    char message[256];
    int wrong = sizes_parse(settings.sizes, &run->sizes, message, sizeof message);
    fail_if(wrong, PROGRAM, "option --%s", wrong ? message : "");
    run->echo.message.element = chosen_element();
    size_t room = (size_t)run->sizes.bytes[run->sizes.count - 1] + 1;
    run->echo.outgoing = room_for(room);
    run->echo.incoming = room_for(room);
    run->samples = room_for((size_t)settings.iterations * sizeof(double));
    for (int step = 0; step < ECHO_STEPS; step++)
        run->steps[step] = room_for((size_t)settings.iterations * sizeof(double));
}

static void report_echo(struct run *run, const struct report_at *at) {
    size_t count = (size_t)settings.iterations;
    struct timing_summary t = timing_summarise(run->samples, (int)count);
    double bytes = (double)at->message_bytes;
    report_metric("half_round_trip", "s", t.median, at, run->samples, count);
    report_metric("half_round_trip_best", "s", t.best, at, NULL, 0);
    report_metric("half_round_trip_mean", "s", t.mean, at, NULL, 0);
    report_metric("half_round_trip_worst", "s", t.worst, at, NULL, 0);
    if (at->message_bytes == 0)
        return;
    report_metric("bandwidth", "bytes/s", bytes / t.median, at, NULL, 0);
    report_metric("bandwidth_best", "bytes/s", bytes / t.best, at, NULL, 0);
    report_metric("bandwidth_mean", "bytes/s", bytes / t.mean, at, NULL, 0);
    report_metric("bandwidth_worst", "bytes/s", bytes / t.worst, at, NULL, 0);
}

/* A protocol that does not pack spends nothing there, which is not reported. */
static void report_steps(struct run *run, const struct report_at *at) {
    static const char *const names[ECHO_STEPS] = {"pack_time", "send_time", "wait_time",
                                                  "unpack_time"};
    for (int step = 0; step < ECHO_STEPS; step++) {
        int packing = step == ECHO_PACK || step == ECHO_UNPACK;
        if (packing && !run->echo.message.protocol->packs)
            continue;
        double *samples = run->steps[step];
        struct timing_summary t = timing_summarise(samples, (int)settings.iterations);
        report_metric(names[step], "s", t.median, at, NULL, 0);
    }
}

/* Round trips timed as a whole, then as many timed step by step: the clock is read more often in
 * those, so they stand apart. */
static void ask_point(struct run *run) {
    struct echo *echo = &run->echo;
    double steps[ECHO_STEPS];
    for (long long i = 0; i < settings.warmup; i++)
        echo_ask(echo, NULL);
    for (long long i = 0; i < settings.iterations; i++)
        run->samples[i] = 0.5 * echo_ask(echo, NULL);
    for (long long i = 0; i < settings.iterations; i++) {
        echo_ask(echo, steps);
        for (int step = 0; step < ECHO_STEPS; step++)
            run->steps[step][i] = steps[step];
    }
    struct report_at at = {echo->message.protocol->name, (long long)echo->message.bytes};
    report_echo(run, &at);
    report_steps(run, &at);
}

static void run_point(struct run *run, const struct protocol *protocol, size_t point) {
    struct echo *echo = &run->echo;
    echo->message.protocol = protocol;
    echo->message.bytes = (size_t)run->sizes.bytes[point % run->sizes.count];
    echo->counter = (uint64_t)point << 32;
    if (!run->is_partner) {
        echo_verify_ask(echo, (uint64_t)settings.seed + point);
        ask_point(run);
        return;
    }
    echo_verify_answer(echo, settings.inject_fault);
    for (long long i = 0; i < settings.warmup + 2 * settings.iterations; i++)
        echo_answer(echo);
}

static void run_all(struct run *run) {
    const struct protocol *chosen[PROTOCOLS];
    size_t count = 0;
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (settings.protocols >> i & 1)
            chosen[count++] = &protocols[i];
    size_t points = count * run->sizes.count, *order = room_for(points * sizeof *order);
    shuffle(order, points, (uint64_t)settings.seed);
    for (size_t i = 0; i < points; i++)
        run_point(run, chosen[order[i] / run->sizes.count], order[i]);
    free(order);
}

/* memcpy from buffer to buffer, the study's bcopy. */
static void report_copies(struct run *run) {
    for (size_t i = 0; i < run->sizes.count; i++) {
        size_t bytes = (size_t)run->sizes.bytes[i];
        struct report_position at = {"message_bytes", NULL, (long long)bytes};
        if (bytes == 0)
            continue;
        memcpy(run->echo.incoming, run->echo.outgoing, bytes);
        for (long long sample = 0; sample < settings.iterations; sample++) {
            double start = timing_monotonic();
            memcpy(run->echo.incoming, run->echo.outgoing, bytes);
            run->samples[sample] = timing_monotonic() - start;
            run->echo.outgoing[0] = run->echo.incoming[bytes - 1]; /* the copy is used */
        }
        struct timing_summary t = timing_summarise(run->samples, (int)settings.iterations);
        report_metric_at("copy_time", "s", t.median, &at, 1, NULL, 0);
    }
}

static void report_notes(void) {
    struct timer timer = timing_own();
    report_timer(&timer);
    report_note_integer("warmup", settings.warmup);
    report_note_integer("order_seed", settings.seed);
    report_note_text("route", settings.daemon_route ? "daemon" : "direct");
    report_note_text("payload_verified", "every reply, and every byte once a protocol and size");
}

int main(int argc, char **argv) {
    double start_s = timing_realtime();
    struct run run = {0};
    read_options(argc, argv);
    prepare(&run);
    int other = partner_meet(argv, settings.within_node, &run.is_partner);
    run.echo.message.other = other;
    pvm_done(pvm_setopt(PvmRoute, settings.daemon_route ? PvmDontRoute : PvmRouteDirect),
             "pvm_setopt");
    if (!run.is_partner)
        report_program(PROGRAM, options, OPTIONS);
    run_all(&run);
    if (!run.is_partner) {
        report_copies(&run);
        report_notes();
        report_end(PROGRAM, 1);
    }
    witness(other, run.is_partner, start_s);
    pvm_fail_part();
    pvm_exit();
    return 0;
}
