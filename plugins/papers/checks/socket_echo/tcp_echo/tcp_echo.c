/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between two processes over one TCP connection, without MPI: measured, verified and reported
 * as the echo between ranks (echo.c). The listening end is the asking end. */
#include "assay/args.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/sampling.h"
#include "assay/shuffle.h"
#include "points.h"
#include "round_trip.h"
#include "sockets/ends.h"

#define PROGRAM "tcp_echo"
#define PURPOSE "echo over TCP; JSON lines on standard output of the end without --host"

static const struct arg options[] = {ENDS_OPTIONS, ECHO_OPTIONS};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct points points;
    struct round_trip trip;
    struct timer timer;
};

/* Collective over both ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    struct round_trip *trip = &run->trip;
    const struct sampling sampling = {.warmup = (int)echo_settings.warmup,
                                      .iterations = (int)echo_settings.iterations,
                                      .body = round_trip,
                                      .context = trip,
                                      .agree = ends_agree,
                                      .with = &trip->socket};
    trip->bytes = (size_t)run->points.sizes.bytes[point];
    trip->counter = (uint64_t)point << 32;
    round_trip_verify(trip, (uint64_t)echo_settings.seed + point);
    timing_sample(&run->timer, &sampling, run->points.samples);
    double loop_s = timing_loop(&run->timer, echo_settings.iterations, round_trip, trip);
    if (trip->asks)
        points_report(&run->points, (long long)trip->bytes, loop_s);
}

int main(int argc, char **argv) {
    struct run run = {0};
    args_read_alone(PROGRAM, PURPOSE, options, OPTIONS, argc, argv);
    points_prepare(&run.points, PROGRAM);
    fail_if(run.points.sizes.bytes[0] == 0, PROGRAM,
            "option --sizes: found 0, allowed are sizes above 0: TCP has no empty message");
    run.trip.outgoing = run.points.outgoing;
    run.trip.incoming = run.points.incoming;
    run.trip.inject_fault = echo_settings.inject_fault;
    run.timer = timing_own();
    run.trip.asks = ends_ask();
    run.trip.socket = ends_connect(PROGRAM);
    if (run.trip.asks)
        report_program(PROGRAM, options, OPTIONS);
    shuffled_each(run.points.sizes.count, (uint64_t)echo_settings.seed, measure_point, &run);
    if (run.trip.asks) {
        points_notes();
        ends_report(PROGRAM, &run.timer, run.trip.socket);
    }
    return 0;
}
