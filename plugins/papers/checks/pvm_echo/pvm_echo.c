/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between two PVM tasks: half round trip, its steps and bandwidth for every protocol and
 * message size, in an order shuffled from a seed; time of a memory copy. */
#include "assay/args.h"
#include "assay/buffer.h"
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
    ARG_SIZES(&settings.sizes),
    ARG_ITERATIONS(&settings.iterations, "samples for each protocol and size (default 100)"),
    ARG_WARMUP(&settings.warmup, "round trips before the first sample, excluded (default 10)"),
    ARG_SEED(&settings.seed, "the order"),
    {"daemon-route", ARG_FLAG, &settings.daemon_route, 0, 0, NULL,
     "messages through the daemons instead of a direct connection"},
    {"within-node", ARG_FLAG, &settings.within_node, 0, 0, NULL, "both tasks on one host"},
    ARG_FAULT(&settings.inject_fault, "deliberate fault: the partner corrupts a byte"),
};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct sizes sizes;
    struct echo echo;
    double *samples, *steps[ECHO_STEPS];
    int is_partner;
};

/* Round trips timed as a whole and, in turn with them, as many timed step by step: in those the
 * clock is read more often. Who comes to share the cores disturbs both alike. */
static void ask_point(struct run *run) {
    static const char *const names[ECHO_STEPS] = {"pack_time", "send_time", "wait_time",
                                                  "unpack_time"};
    struct echo *echo = &run->echo;
    const struct message *message = &echo->message;
    double steps[ECHO_STEPS];
    for (long long i = 0; i < settings.warmup; i++)
        echo_ask(echo, NULL);
    for (long long i = 0; i < settings.iterations; i++) {
        run->samples[i] = echo_ask(echo, NULL);
        echo_ask(echo, steps);
        for (int step = 0; step < ECHO_STEPS; step++)
            run->steps[step][i] = steps[step];
    }
    struct report_position at[] = {{"construct", message->protocol->name, 0},
                                   {"message_bytes", NULL, (long long)message->bytes}};
    struct timing_summary whole =
        report_round_trips(at, 2, run->samples, (size_t)settings.iterations);
    report_bandwidths(at, 2, (long long)message->bytes, whole);
    for (int step = 0; step < ECHO_STEPS; step++)
        if (message->protocol->packs || (step != ECHO_PACK && step != ECHO_UNPACK))
            report_value(names[step], "s",
                         timing_summarise(run->steps[step], (int)settings.iterations).median, at,
                         2);
}

/* Both tasks: every chosen protocol and size, verified and measured. */
static void run_all(struct run *run) {
    const struct protocol *chosen[PROTOCOLS];
    struct echo *echo = &run->echo;
    size_t count = 0;
    for (size_t i = 0; i < PROTOCOLS; i++)
        if (settings.protocols >> i & 1)
            chosen[count++] = &protocols[i];
    size_t points = count * run->sizes.count, *order = buffer_make(points, sizeof *order);
    shuffle(order, points, (uint64_t)settings.seed);
    for (size_t i = 0; i < points; i++) {
        size_t point = order[i];
        echo->message.protocol = chosen[point / run->sizes.count];
        echo->message.bytes = (size_t)run->sizes.bytes[point % run->sizes.count];
        echo->counter = (uint64_t)point << 32;
        if (!run->is_partner) {
            echo_verify_ask(echo, (uint64_t)settings.seed + point);
            ask_point(run);
            continue;
        }
        echo_verify_answer(echo, settings.inject_fault);
        for (long long j = 0; j < settings.warmup + 2 * settings.iterations; j++)
            echo_answer(echo);
    }
    free(order);
}

/* Time of memcpy between the buffers, the study's bcopy. */
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
        report_value("copy_time", "s", t.median, &at, 1);
    }
}

int main(int argc, char **argv) {
    double start_s = timing_realtime();
    struct run run = {0};
    args_read_alone(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    sizes_read(&run.sizes, settings.sizes, PROGRAM);
    for (size_t i = 0; i < ELEMENTS; i++)
        if (settings.element == 1UL << i)
            run.echo.message.element = &elements[i];
    fail_if(!run.echo.message.element, PROGRAM, "option --element: found several, allowed is one");
    size_t greatest = (size_t)run.sizes.bytes[run.sizes.count - 1];
    size_t samples = (size_t)settings.iterations;
    run.echo.outgoing = buffer_make(greatest, 1);
    run.echo.incoming = buffer_make(greatest, 1);
    run.samples = buffer_make(samples, sizeof *run.samples);
    for (int step = 0; step < ECHO_STEPS; step++)
        run.steps[step] = buffer_make(samples, sizeof *run.steps[step]);
    int other = partner_meet(argv, settings.within_node, &run.is_partner);
    run.echo.message.other = other;
    pvm_done(pvm_setopt(PvmRoute, settings.daemon_route ? PvmDontRoute : PvmRouteDirect),
             "pvm_setopt");
    if (!run.is_partner)
        report_program(PROGRAM, options, OPTIONS);
    run_all(&run);
    if (!run.is_partner) {
        report_copies(&run);
        struct timer timer = timing_own();
        report_timer(&timer);
        report_note_integer("warmup", settings.warmup);
        report_note_integer("order_seed", settings.seed);
        report_note_text("route", settings.daemon_route ? "daemon" : "direct");
        report_note_text("payload_verified",
                         "every reply, and every byte once a protocol and size");
        report_end(PROGRAM, 1);
    }
    witness(other, run.is_partner, start_s);
    pvm_fail_part();
    pvm_exit();
    return 0;
}
