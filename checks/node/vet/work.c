/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* pthread_setaffinity_np */
#include "vet.h"

#include "assay/buffer.h"
#include "assay/clock.h"
#include "assay/fail.h"
#include "assay/report.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LEAST_TURNS 2
/* Of each of STREAM's arrays, a thread: four times what caches have for a core, and more. */
#define STREAM_BYTES (1LL << 25)
#define DGEMM_ORDER 256

/* The work of one thread. */
struct worker {
    pthread_t thread;
    pthread_barrier_t *start;
    const struct kernel *kernel;
    const struct node_settings *settings;
    int processor, count, turns[PARTS];
    double seconds, busy_s[PARTS]; /* how long to work; what the runs of each part took */
    double others; /* share of the time in which another program had the processor */
    double ready;  /* share of the rest in which this thread, always ready, had it */
    struct part parts[PARTS];
};

void bind_to(int processor) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static double run_once(const struct worker *worker, void *state, int part) {
    if (worker->kernel->restore)
        worker->kernel->restore(state, part);
    double start = timing_monotonic();
    worker->kernel->run(state, part);
    return timing_monotonic() - start;
}

static void *work(void *given) {
    struct worker *worker = given;
    char message[512] = "";
    bind_to(worker->processor);
    void *state = worker->kernel->prepare(worker->settings);
    fail_if(!state, worker->kernel->name, "out of memory");
    worker->parts[0] = worker->kernel->part;
    worker->count = worker->kernel->parts ? worker->kernel->parts(state, worker->parts) : 1;
    for (int i = 0; i < worker->count; i++) /* warm up */
        run_once(worker, state, i);
    pthread_barrier_wait(worker->start);
    struct usage begin = usage_read(&worker->processor, 1);
    do {
        for (int i = 0; i < worker->count; i++, worker->turns[i - 1]++)
            worker->busy_s[i] += run_once(worker, state, i);
    } while (timing_monotonic() - begin.wall < worker->seconds || worker->turns[0] < LEAST_TURNS);
    struct usage passed = usage_since(&begin, &worker->processor, 1);
    passed.withheld /= (double)worker->settings->ranks_on_node;
    worker->others = usage_others(&passed, 1, 1) / passed.wall;
    worker->ready = passed.own / (passed.wall * (1 - worker->others));
    pthread_barrier_wait(worker->start); /* no verification while others measure */
    fail_answer(!worker->kernel->verify(state, message, sizeof message), worker->kernel->name, "%s",
                message);
    worker->kernel->release(state);
    return NULL;
}

/* The value of a part on one thread; the time that others had counts for nothing. */
static double value_of(const struct worker *worker, int part) {
    const struct part *found = &worker->parts[part];
    double done = found->work * worker->turns[part];
    double took = worker->busy_s[part] * (1 - worker->others);
    return found->kind == PART_RATE ? done / took : took / done;
}

static void report_part(const struct worker *workers, int count, int part) {
    double *values = buffer_make((size_t)count, sizeof(double)), sum = 0;
    const struct part *found = &workers[0].parts[part];
    for (int i = 0; i < count; i++)
        sum += values[i] = value_of(&workers[i], part);
    report_metric(found->metric, found->unit, found->kind == PART_RATE ? sum : sum / count, NULL, 0,
                  values, (size_t)count);
    free(values);
}

void work_run(const struct kernel *kernel, double seconds, int alone) {
    int found[MOST_PROCESSORS], count = processors(found, MOST_PROCESSORS);
    fail_if(count == 0, __func__, "the kernel does not list the processors");
    count = alone && count > 1 ? 1 : count;
    long long half =
        sysconf(_SC_AVPHYS_PAGES) * (long long)sysconf(_SC_PAGESIZE) / 2 / count / 3 / 4096 * 4096;
    const struct node_settings settings = {
        half < STREAM_BYTES ? half : STREAM_BYTES, DGEMM_ORDER, 0, 0, count, 1, 1};
    fail_if(settings.stream_bytes < 8192, kernel->name, "too little memory is free");
    struct worker *workers = buffer_make((size_t)count, sizeof *workers);
    double others = 0, ready = 1;
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, (unsigned)count);
    for (int i = 0; i < count; i++) {
        workers[i].start = &start;
        workers[i].kernel = kernel;
        workers[i].settings = &settings;
        workers[i].processor = found[i];
        workers[i].seconds = seconds;
        fail_if(pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0, __func__,
                "cannot start thread %d of %d", i + 1, count);
    }
    for (int i = 0; i < count; i++) {
        pthread_join(workers[i].thread, NULL);
        others = workers[i].others > others ? workers[i].others : others;
        ready = workers[i].ready < ready ? workers[i].ready : ready;
    }
    for (int part = 0; part < workers[0].count; part++)
        report_part(workers, count, part);
    report_value("core_share", "1", ready, NULL, 0);
    report_note_number("others", others);
    pthread_barrier_destroy(&start);
    free(workers);
}
