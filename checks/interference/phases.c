/* SPDX-License-Identifier: Apache-2.0 */
#include "phases.h"

#include "assay/fail.h"
#include "counting.h"

#include <math.h>
#include <stdlib.h>

#define GO_TAG 2
#define STOP_TAG 3
/* Counting loops a neighbour keeps of one stream; later ones are counted and verified, not kept. */
#define MOST_LOOPS 100000
#define LEAST_LOOPS 5.0      /* of a neighbour that fit into a stream */
#define TURN_S 2e-9          /* about a turn of the loop, not less */
#define MOST_WINDOWS 1000000 /* of a stream */

static void count(const struct phases *p, uint64_t turns) {
    uint64_t found = counting_run(turns + (p->fault_count ? 1 : 0));
    fail_answer(found != counting_reference(turns), __func__,
                "the loop of %llu turns ended at %llu, must be %llu", (unsigned long long)turns,
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

static void nothing(void *context) { (void)context; }

/* Median seconds of body over the plan's samples, on rank 0 of comm. Collective over comm. */
static double median(struct phases *p, MPI_Comm comm, void (*before)(void *),
                     void (*body)(void *)) {
    double *samples = malloc((size_t)p->plan.iterations * sizeof *samples);
    fail_if(!samples, __func__, "out of memory: %d samples", p->plan.iterations);
    timing_run_after(&p->timer, &p->plan, comm, before, body, p, samples);
    double result = timing_summarise(samples, p->plan.iterations).median;
    free(samples);
    return result;
}

struct alone {
    struct phases *phases;
    double seconds;
};

static void count_alone(void *context) {
    struct alone *alone = context;
    alone->seconds = median(alone->phases, MPI_COMM_SELF, nothing, count_loop);
}

/* Endpoints: the counting loop while a window of messages is under way each way. */
static double count_with_messages(struct phases *p) {
    traffic_fill(&p->traffic);
    double seconds = median(p, MPI_COMM_SELF, end_and_post, count_loop);
    traffic_wait(&p->traffic);
    traffic_verify(&p->traffic, p->traffic.window, p->fault_message);
    return seconds;
}

/* Endpoints: rank 0 of the pair decides how much work the exchange is to hide behind. */
static void measure_overlap(struct phases *p) {
    traffic_fill(&p->traffic);
    p->exchange_s = median(p, p->roles.pair, nothing, exchange);
    traffic_verify(&p->traffic, 1, p->fault_message);
    double seconds = p->exchange_s;
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, p->roles.pair);
    p->hidden_turns = counting_calibrate(seconds);
    double compute_s = median(p, p->roles.pair, nothing, count_hidden);
    double both_s = median(p, p->roles.pair, nothing, exchange_and_count);
    p->overlap = fmin(1, fmax(0, 1 - (both_s - compute_s) / p->exchange_s));
    p->availability = fmin(1, compute_s / both_s);
}

/* Endpoints: seconds a window. The number of windows is doubled until a stream lasts least_s: it
 * cannot be told from a few windows on a machine whose cores are shared, where one takes a
 * microsecond and the next a time slice of the scheduler. */
static double stream_for(struct phases *p, double least_s) {
    struct timing_plan plan = p->plan;
    double seconds;
    int longer;
    traffic_fill(&p->traffic);
    do {
        double start = p->timer.now();
        seconds = median(p, p->roles.pair, nothing, stream);
        longer = p->timer.now() - start < least_s && p->plan.iterations < MOST_WINDOWS;
        MPI_Bcast(&longer, 1, MPI_INT, 0, p->roles.pair);
        p->plan.iterations *= 2;
    } while (longer);
    p->plan = plan;
    if (p->traffic.rank == 1)
        traffic_verify(&p->traffic, p->traffic.window, p->fault_message);
    return seconds;
}

/* Neighbours: the counting loop from the stream's begin to its end. */
static double count_beside_stream(struct phases *p) {
    double *samples = malloc(MOST_LOOPS * sizeof *samples);
    int loops = 0;
    fail_if(!samples, __func__, "out of memory: %d samples", MOST_LOOPS);
    while (!arrived(p->roles.first, STOP_TAG) || loops == 0) {
        double start = p->timer.now();
        count(p, p->turns);
        if (loops < MOST_LOOPS)
            samples[loops++] = p->timer.now() - start;
    }
    double result = timing_summarise(samples, loops).median;
    free(samples);
    return result;
}

static double endpoint_phases(struct phases *p) {
    double passing_s = count_with_messages(p);
    measure_overlap(p);
    p->stream_resting_s = stream_for(p, 0);
    if (p->roles.ranks > 2) {
        if (p->roles.rank == p->roles.first)
            tell_all(&p->roles, p->roles.second, GO_TAG);
        p->stream_computing_s = stream_for(p, LEAST_LOOPS * (double)p->turns * TURN_S);
        if (p->roles.rank == p->roles.first)
            tell_all(&p->roles, p->roles.second, STOP_TAG);
    }
    return passing_s;
}

struct outcome phases_run(struct phases *p) {
    struct outcome own = {(int)p->roles.mine, 0, 0};
    struct alone alone = {p, 0};
    take_turns(&p->roles, count_alone, &alone);
    own.alone_s = alone.seconds;
    if (p->roles.mine == ENDPOINT) {
        own.passing_s = endpoint_phases(p);
    } else {
        rest_until(p->roles.first, GO_TAG);
        own.passing_s = count_beside_stream(p);
    }
    return own;
}
