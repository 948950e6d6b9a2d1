/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "counters.h"

/* One run of a part on this rank: its duration, s, or the amount that it returned. Collective over
 * the node. */
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

struct measured measure(const struct kernel *kernel, const struct node_settings *settings,
                        const struct turns *turns, const struct timer *timer, int fault) {
    struct measured measured = {.count = 0};
    char message[512] = "";
    void *state = kernel_prepare(kernel, settings);
    fail_if(!state, kernel->name, "out of memory on %s", turns->host);
    measured.count = kernel_parts(kernel, state, measured.parts);
    measured.samples =
        buffer_make((size_t)measured.count * (size_t)settings->repetitions, sizeof(double));
    for (int i = 0; i < measured.count; i++) /* warm up: caches, pages, the BLAS's own buffers */
        run_once(kernel, state, &measured.parts[i], i, turns, timer);
    for (int repetition = 0; repetition < settings->repetitions; repetition++)
        for (int i = 0; i < measured.count; i++) {
            const struct part *part = &measured.parts[i];
            MPI_Op operation = part->kind == PART_AMOUNT ? MPI_SUM : MPI_MAX;
            double all = 0, own = run_once(kernel, state, part, i, turns, timer);
            MPI_Reduce(&own, &all, 1, MPI_DOUBLE, operation, 0, turns->node);
            measured.samples[i * settings->repetitions + repetition] =
                part->kind == PART_RATE   ? turns->on_node * part->work / all
                : part->kind == PART_TIME ? all / part->work
                                          : all;
        }
    if (fault)
        kernel->corrupt(state);
    fail_if(!kernel->verify(state, message, sizeof message), kernel->name, "on %s: %s", turns->host,
            message);
    int last = measured.count - 1;
    measured.instructions_per_work = count_instructions(kernel, state, &measured.parts[last], last);
    kernel->release(state);
    return measured;
}
