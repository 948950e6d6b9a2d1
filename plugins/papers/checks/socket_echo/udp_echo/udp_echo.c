/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between two processes by UDP datagrams, without MPI: measured, verified and reported as the
 * echo between ranks (echo.c). A lost datagram is counted and sent again; its round trip keeps the
 * time that this took. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/sampling.h"
#include "assay/shuffle.h"
#include "datagram.h"
#include "points.h"
#include "sockets/ends.h"

#define PROGRAM "udp_echo"
#define PURPOSE "echo over UDP; JSON lines on standard output of the end without --host"

static const struct arg options[] = {ENDS_OPTIONS, ECHO_OPTIONS};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct points points;
    struct datagrams datagrams;
    struct timer timer;
};

/* The other end reflects whatever comes: it needs no batch. */
static void agree(int *batch, void *with) {
    (void)batch;
    (void)with;
}

static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct datagrams *d = &run->datagrams;
    const struct sampling sampling = {.warmup = (int)echo_settings.warmup,
                                      .iterations = (int)echo_settings.iterations,
                                      .body = datagrams_round_trip,
                                      .context = d,
                                      .agree = agree};
    const struct report_position at = {"message_bytes", NULL, run->points.sizes.bytes[point]};
    d->counter = (uint64_t)point << 32;
    d->lost = d->late = 0;
    datagrams_announce(d, (size_t)at.integer, 1);
    datagrams_verify(d, (uint64_t)echo_settings.seed + point);
    datagrams_announce(d, (size_t)at.integer, 0);
    timing_sample(&run->timer, &sampling, run->points.samples);
    double loop_s = timing_loop(&run->timer, echo_settings.iterations, datagrams_round_trip, d);
    points_report(&run->points, at.integer, loop_s);
    report_value("datagrams_lost", "1", (double)d->lost, &at, 1);
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct sizes *sizes = &run.points.sizes;
    args_read_alone(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    points_prepare(&run.points, PROGRAM);
    fail_if(sizes->bytes[0] == 0 || sizes->bytes[sizes->count - 1] > DATAGRAM_MOST, PROGRAM,
            "option --sizes: found %lld to %lld, allowed are sizes from 1 to %d", sizes->bytes[0],
            sizes->bytes[sizes->count - 1], DATAGRAM_MOST);
    run.datagrams.outgoing = run.points.outgoing;
    run.datagrams.incoming = run.points.incoming;
    run.datagrams.inject_fault = echo_settings.inject_fault;
    run.timer = timing_own();
    run.datagrams.control = ends_connect(PROGRAM);
    datagrams_open(&run.datagrams);
    if (!ends_ask()) {
        datagrams_reflect(&run.datagrams);
        return 0;
    }
    report_program(PROGRAM, options, OPTIONS);
    shuffled_each(sizes->count, (uint64_t)echo_settings.seed, measure_point, &run);
    datagrams_announce(&run.datagrams, 0, 0);
    points_notes();
    ends_report(PROGRAM, &run.timer, run.datagrams.control);
    return 0;
}
