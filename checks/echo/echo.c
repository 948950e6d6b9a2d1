/* SPDX-License-Identifier: Apache-2.0 */
/* Echo between rank 0 and the last rank, or of a rank with itself if there is only one: half round
 * trips by the two methods of T. H. Dunigan and J. Dongarra (ORNL/TM-13018, 1996), each round trip
 * timed, and one interval around the whole loop. The ranks between the two sleep. */
#include "assay/pingpong.h"
#include "assay/program.h"
#include "assay/rest.h"
#include "assay/shuffle.h"
#include "assay/timing.h"
#include "points.h"

#include <mpi.h>

#define PROGRAM "echo"
#define PURPOSE "echo between rank 0 and the last rank; JSON lines on standard output"

static const struct arg options[] = {ECHO_OPTIONS};
#define OPTIONS (sizeof options / sizeof *options)

struct run {
    struct points points;
    struct pingpong pingpong;
};

static void prepare(void *context) {
    struct run *run = context;
    struct pingpong *p = &run->pingpong;
    points_prepare(&run->points, PROGRAM);
    p->comm = program_ends(&p->rank);
    p->alone = world.ranks == 1;
    p->construct = &constructs[0];
    p->inject_fault = echo_settings.inject_fault;
    p->outgoing = run->points.outgoing;
    p->incoming = run->points.incoming;
}

/* Collective over the two ends. */
static void measure_point(void *context, size_t point) {
    struct run *run = context;
    const struct echo_settings *s = &echo_settings;
    struct timing_plan plan = {(int)s->warmup, (int)s->iterations, TIMING_RANK0};
    struct pingpong *pingpong = &run->pingpong;
    long long bytes = run->points.sizes.bytes[point];
    pingpong->bytes = (int)bytes;
    pingpong->counter = (uint64_t)point << 32;
    pingpong_verify(pingpong, (uint64_t)s->seed + point);
    timing_run(&world.timer, &plan, pingpong->comm, pingpong_round_trip, pingpong,
               run->points.samples);
    double loop_s = timing_loop(&world.timer, s->iterations, pingpong_round_trip, pingpong);
    if (world.rank == 0)
        points_report(&run->points, bytes, loop_s);
}

static void measure(void *context) {
    struct run *run = context;
    size_t count = run->points.sizes.count;
    if (run->pingpong.comm != MPI_COMM_NULL)
        shuffled_each(count, (uint64_t)echo_settings.seed, measure_point, run);
    rest_until_all(MPI_COMM_WORLD);
    if (run->pingpong.comm != MPI_COMM_NULL)
        MPI_Comm_free(&run->pingpong.comm);
}

static void report(const void *context) {
    (void)context;
    points_notes();
}

int main(int argc, char **argv) {
    struct run run = {0};
    const struct program program = {PROGRAM, PURPOSE, options, OPTIONS, prepare, measure, report};
    return program_main(&program, &run, argc, argv);
}
