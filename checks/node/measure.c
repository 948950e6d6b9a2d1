/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include "assay/fail.h"
#include "counters.h"

#include <stdlib.h>

/* Time of one run of a part on this rank: seconds, or for an amount what the run returned. */
static double run_once(const struct kernel *kernel, void *state, const struct part *part, int index,
                       const struct turns *turns, const struct timer *timer) {
    if (kernel->restore)
        kernel->restore(state, index);
    MPI_Barrier(turns->node);
    double start = timer->now();
    double amount = kernel->run(state, index);
    double seconds = timer->now() - start;
    if (part->kind == PART_AMOUNT)
        return amount;
    fail_if(seconds < TIMING_LEAST_STEPS * timer->resolution_s, kernel->name,
            "a run took %g s, too short for a clock of %g s: choose greater sizes", seconds,
            timer->resolution_s);
    return seconds;
}

/* The node's value from the ranks' own, right on its first rank. Collective over the node. */
static double node_value(const struct part *part, double own, const struct turns *turns) {
    double all = 0;
    MPI_Reduce(&own, &all, 1, MPI_DOUBLE, part->kind == PART_AMOUNT ? MPI_SUM : MPI_MAX, 0,
               turns->node);
    if (part->kind == PART_RATE)
        return turns->on_node * part->work / all;
    return part->kind == PART_TIME ? all / part->work : all;
}

static double count_instructions(const struct kernel *kernel, void *state, const struct part *part,
                                 int index) {
    struct counters counters = counters_open();
    long long before = counters_read(&counters);
    if (before < 0)
        return 0;
    if (kernel->restore)
        kernel->restore(state, index);
    before = counters_read(&counters);
    kernel->run(state, index);
    long long after = counters_read(&counters);
    counters_close(&counters);
    return (double)(after - before) / part->work;
}

static void run_all(const struct kernel *kernel, const struct node_settings *settings, void *state,
                    const struct turns *turns, const struct timer *timer,
                    struct measured *measured) {
    for (int i = 0; i < measured->count; i++) /* warm up: caches, pages, the BLAS's own buffers */
        run_once(kernel, state, &measured->parts[i], i, turns, timer);
    for (int repetition = 0; repetition < settings->repetitions; repetition++)
        for (int i = 0; i < measured->count; i++) {
            double own = run_once(kernel, state, &measured->parts[i], i, turns, timer);
            measured->samples[i * settings->repetitions + repetition] =
                node_value(&measured->parts[i], own, turns);
        }
}

struct measured measure(const struct kernel *kernel, const struct node_settings *settings,
                        const struct turns *turns, const struct timer *timer, int fault) {
    struct measured measured = {.count = 0};
    char message[512] = "";
    void *state = kernel->prepare(settings);
    fail_if(!state, kernel->name, "out of memory on %s", turns->host);
    measured.count = kernel->parts(state, measured.parts);
    measured.samples =
        malloc((size_t)measured.count * (size_t)settings->repetitions * sizeof(double));
    fail_if(!measured.samples, kernel->name, "out of memory: %d samples", settings->repetitions);
    run_all(kernel, settings, state, turns, timer, &measured);
    if (fault)
        kernel->corrupt(state);
    fail_if(!kernel->verify(state, message, sizeof message), kernel->name, "on %s: %s", turns->host,
            message);
    int last = measured.count - 1;
    measured.instructions_per_work = count_instructions(kernel, state, &measured.parts[last], last);
    kernel->release(state);
    return measured;
}

void measured_free(struct measured *measured) { free(measured->samples); }
