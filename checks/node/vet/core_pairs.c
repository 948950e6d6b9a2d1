/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread */
#include "vet.h"

#include "assay/buffer.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"
#include "assay/sampling.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#define BATCHES 51
#define ROUNDS 200

/* Two threads that pass a counter back and forth; odd numbers are the second one's. */
struct pair {
    _Alignas(128) atomic_long ball;
    _Alignas(128) int second;
    long last;
};

static void *answer(void *given) {
    struct pair *pair = given;
    bind_to(pair->second);
    for (long next = 1; next < pair->last; next += 2) {
        for (long spins = 1; atomic_load_explicit(&pair->ball, memory_order_acquire) != next;
             spins++)
            if (spins % 10000 == 0) /* the other thread may wait for this processor */
                sched_yield();
        atomic_store_explicit(&pair->ball, next + 1, memory_order_release);
    }
    return NULL;
}

/* Median over batches of the time of one way. */
static double one_way_s(int second) {
    struct pair *pair = aligned_alloc(128, sizeof *pair);
    pthread_t thread;
    double samples[BATCHES];
    fail_if(!pair, __func__, "out of memory");
    atomic_init(&pair->ball, 0);
    pair->second = second;
    pair->last = 2L * BATCHES * ROUNDS;
    fail_if(pthread_create(&thread, NULL, answer, pair) != 0, __func__, "cannot start a thread");
    long next = 0;
    for (int batch = 0; batch < BATCHES; batch++) {
        double start = timing_monotonic();
        for (int round = 0; round < ROUNDS; round++, next += 2) {
            atomic_store_explicit(&pair->ball, next + 1, memory_order_release);
            for (long spins = 1;
                 atomic_load_explicit(&pair->ball, memory_order_acquire) != next + 2; spins++)
                if (spins % 10000 == 0)
                    sched_yield();
        }
        samples[batch] = (timing_monotonic() - start) / (2 * ROUNDS);
    }
    pthread_join(thread, NULL);
    fail_answer(atomic_load(&pair->ball) != pair->last, __func__,
                "the counter is %ld, expected %ld", atomic_load(&pair->ball), pair->last);
    free(pair);
    return timing_summarise(samples, BATCHES).median;
}

void core_pairs_run(double seconds) {
    int found[MOST_PROCESSORS], count = processors(found, MOST_PROCESSORS), done = 0;
    fail_if(count == 0, __func__, "the kernel does not list the processors");
    double until = timing_monotonic() + seconds;
    double *samples = buffer_make((size_t)count, sizeof *samples);
    bind_to(found[0]);
    for (int i = 1; i < count && timing_monotonic() < until; i++)
        samples[done++] = one_way_s(found[i]);
    if (done > 0)
        report_metric("core_to_core", "s", timing_summarise(samples, done).median, NULL, 0, samples,
                      (size_t)done);
    free(samples);
}
