/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/rest.h"
#include "counting.h"

#include <math.h>
#include <stdlib.h>

#define GO_TAG 2
#define STOP_TAG 3
#define MOST_LOOPS 100000    /* samples that a neighbour keeps of one stream */
#define LEAST_LOOPS 5.0      /* of a neighbour during one stream */
#define TURN_S 2e-9          /* upper estimate of a turn of the loop */
#define MOST_WINDOWS 1000000 /* of a stream */

static void count(const struct phases *p, uint64_t turns) {
    uint64_t found = counting_run(turns + (p->fault_count ? 1 : 0));
    fail_answer(found != counting_reference(turns), __func__,
                "the loop of %llu turns ended at %llu, expected %llu", (unsigned long long)turns,
                (unsigned long long)found, (unsigned long long)counting_reference(turns));
}

static void count_loop(void *context) {
    const struct phases *p = context;
    count(p, p->turns);
}

static void count_hidden(void *context) {
    const struct phases *p = context;
    count(p, p->hidden_turns);
}

static void end_and_post(void *context) {
    struct phases *p = context;
    traffic_wait(&p->traffic);
    traffic_post(&p->traffic, p->traffic.window);
}

static void exchange(void *context) {
    struct phases *p = context;
    traffic_post(&p->traffic, 1);
    traffic_wait(&p->traffic);
}

static void exchange_and_count(void *context) {
    struct phases *p = context;
    traffic_post(&p->traffic, 1);
    count(p, p->hidden_turns);
    traffic_wait(&p->traffic);
}

static void stream(void *context) { traffic_stream(&((struct phases *)context)->traffic); }

/* Median duration of body over the plan's samples, s, valid on rank 0 of comm. Collective over
 * comm. */
static double median(struct phases *p, MPI_Comm comm, void (*before)(void *),
                     void (*body)(void *)) {
    double *samples = buffer_make((size_t)p->plan.iterations, sizeof *samples);
    timing_run_after(&p->timer, &p->plan, comm, before, body, p, samples);
    double result = timing_summarise(samples, p->plan.iterations).median;
    free(samples);
    return result;
}

/* Endpoints: rank 0 of the pair chooses the work, as long as an exchange. Collective over the pair.
 */
static void measure_overlap(struct phases *p) {
    traffic_fill(&p->traffic);
    p->exchange_s = median(p, p->roles.pair, NULL, exchange);
    traffic_verify(&p->traffic, 1, p->fault_message);
    double seconds = p->exchange_s;
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, p->roles.pair);
    p->hidden_turns = counting_calibrate(seconds);
    double compute_s = median(p, p->roles.pair, NULL, count_hidden);
    double both_s = median(p, p->roles.pair, NULL, exchange_and_count);
    p->overlap = fmin(1, fmax(0, 1 - (both_s - compute_s) / p->exchange_s));
    p->availability = fmin(1, compute_s / both_s);
}

/* Endpoints: duration of a window, s. The number of windows is doubled until a stream lasts
 * least_s: a few windows do not predict it on a machine with shared cores, where one takes a
 * microsecond and the next a time slice of the scheduler. Collective over the pair. */
static double stream_for(struct phases *p, double least_s) {
    struct timing_plan plan = p->plan;
    double seconds;
    int longer;
    traffic_fill(&p->traffic);
    do {
        double start = p->timer.now();
        seconds = median(p, p->roles.pair, NULL, stream);
        longer = p->timer.now() - start < least_s && p->plan.iterations < MOST_WINDOWS;
        MPI_Bcast(&longer, 1, MPI_INT, 0, p->roles.pair);
        p->plan.iterations *= 2;
    } while (longer);
    p->plan = plan;
    if (p->traffic.rank == 1)
        traffic_verify(&p->traffic, p->traffic.window, p->fault_message);
    return seconds;
}

/* Neighbours: median of the counting loop, s, from the start of the stream to its end. */
static double count_beside_stream(struct phases *p) {
    double *samples = buffer_make(MOST_LOOPS, sizeof *samples);
    int loops = 0;
    rest_until(p->roles.first, GO_TAG);
    do { /* once at least: a late neighbour finds that the stream has ended */
        double start = p->timer.now();
        count(p, p->turns);
        if (loops < MOST_LOOPS)
            samples[loops++] = p->timer.now() - start;
    } while (!arrived(p->roles.first, STOP_TAG));
    double result = timing_summarise(samples, loops).median;
    free(samples);
    return result;
}

struct outcome phases_run(struct phases *p) {
    const struct roles *roles = &p->roles;
    struct outcome own = {(int)roles->mine, 0, 0};
    for (int turn = 0; turn < roles->ranks; turn++) {
        if (turn == roles->rank)
            own.alone_s = median(p, MPI_COMM_SELF, NULL, count_loop);
        rest_until_all(MPI_COMM_WORLD);
    }
    if (roles->mine != ENDPOINT) {
        own.passing_s = count_beside_stream(p);
        return own;
    }
    traffic_fill(&p->traffic);
    own.passing_s = median(p, MPI_COMM_SELF, end_and_post, count_loop);
    traffic_wait(&p->traffic);
    traffic_verify(&p->traffic, p->traffic.window, p->fault_message);
    measure_overlap(p);
    p->stream_resting_s = stream_for(p, 0);
    if (roles->ranks > 2) {
        if (roles->rank == roles->first)
            tell_all(roles, roles->second, GO_TAG);
        p->stream_computing_s = stream_for(p, LEAST_LOOPS * (double)p->turns * TURN_S);
        if (roles->rank == roles->first)
            tell_all(roles, roles->second, STOP_TAG);
    }
    return own;
}
