/* SPDX-License-Identifier: Apache-2.0 */
#include "measure.h"

#include "assay/buffer.h"
#include "assay/fail.h"
#include "assay/usage.h"
#include "counters.h"

#include <stdlib.h>

/* One run of a part on this rank: its duration, s, or the amount that it returned, and how long
 * this thread was off its processor. Collective over the node. */
static double run_once(const struct kernel *kernel, void *state, const struct part *part, int index,
                       const struct turns *turns, const struct timer *timer, double *off) {
    if (kernel->restore)
        kernel->restore(state, index);
    MPI_Barrier(turns->node);
    double own = usage_own(), start = timer->now();
    double amount = kernel->run(state, index);
    double seconds = timer->now() - start;
    own = usage_own() - own;
    *off = own < seconds ? seconds - own : 0;
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

/* The processors of all ranks of the node. Collective over it. */
static int node_processors(const struct turns *turns, int *found) {
    int mine[MOST_PROCESSORS] = {0}, allowed[MOST_PROCESSORS];
    int own = processors(found, MOST_PROCESSORS), count = 0;
    fail_if(own == 0, __func__, "the kernel does not list the processors");
    for (int i = 0; i < own; i++)
        if (found[i] < MOST_PROCESSORS)
            mine[found[i]] = 1;
    MPI_Allreduce(mine, allowed, MOST_PROCESSORS, MPI_INT, MPI_MAX, turns->node);
    for (int i = 0; i < MOST_PROCESSORS; i++)
        if (allowed[i])
            found[count++] = i;
    return count;
}

/* Take the time of others off the durations. Collective over the node. */
static double without_others(struct usage passed, const struct turns *turns, int processors,
                             double *durations, const double *off, int count) {
    double own = passed.own; /* MPI-1.2 has no MPI_IN_PLACE */
    MPI_Allreduce(&own, &passed.own, 1, MPI_DOUBLE, MPI_SUM, turns->node);
    double others = usage_others(&passed, turns->on_node, processors);
    double all_off = turns->on_node * passed.wall - passed.own;
    double share = all_off > others ? others / all_off : others > 0;
    MPI_Bcast(&share, 1, MPI_DOUBLE, 0, turns->node);
    for (int i = 0; i < count; i++)
        durations[i] -= share * off[i];
    return others / passed.wall / (turns->on_node < processors ? turns->on_node : processors);
}

/* Run the parts in turn, into `own`; returns the share that other programs had. */
static double run_all(const struct kernel *kernel, void *state, const struct measured *measured,
                      int repetitions, const struct turns *turns, const struct timer *timer,
                      double *own) {
    int found[MOST_PROCESSORS], used = node_processors(turns, found), count = measured->count;
    double *off = buffer_make((size_t)count * (size_t)repetitions, sizeof *off);
    struct usage begin = usage_read(found, used);
    for (int repetition = 0; repetition < repetitions; repetition++)
        for (int i = 0, place; i < count; i++) {
            place = i * repetitions + repetition;
            own[place] = run_once(kernel, state, &measured->parts[i], i, turns, timer, &off[place]);
        }
    double others = -1;
    if (measured->parts[0].kind != PART_AMOUNT)
        others = without_others(usage_since(&begin, found, used), turns, used, own, off,
                                count * repetitions);
    free(off);
    return others;
}

struct measured measure(const struct kernel *kernel, const struct node_settings *settings,
                        const struct turns *turns, const struct timer *timer, int fault) {
    struct measured measured = {.count = 0};
    char message[512] = "";
    void *state = kernel_prepare(kernel, settings);
    fail_if(!state, kernel->name, "out of memory on %s", turns->host);
    measured.count = kernel_parts(kernel, state, measured.parts);
    int count = settings->repetitions;
    size_t samples = (size_t)measured.count * (size_t)count;
    double unused, *own = buffer_make(samples, sizeof *own);
    measured.samples = buffer_make(samples, sizeof *own);
    for (int i = 0; i < measured.count; i++) /* warm up: caches, pages, the BLAS's own buffers */
        run_once(kernel, state, &measured.parts[i], i, turns, timer, &unused);
    measured.others = run_all(kernel, state, &measured, count, turns, timer, own);
    for (int i = 0; i < measured.count; i++) {
        const struct part *part = &measured.parts[i];
        double *all = measured.samples + i * count;
        MPI_Reduce(own + i * count, all, count, MPI_DOUBLE,
                   part->kind == PART_AMOUNT ? MPI_SUM : MPI_MAX, 0, turns->node);
        for (int k = 0; k < count && part->kind != PART_AMOUNT; k++)
            all[k] = part->kind == PART_RATE ? turns->on_node * part->work / all[k]
                                             : all[k] / part->work;
    }
    free(own);
    if (fault)
        kernel->corrupt(state);
    fail_if(!kernel->verify(state, message, sizeof message), kernel->name, "on %s: %s", turns->host,
            message);
    int last = measured.count - 1;
    measured.instructions_per_work = count_instructions(kernel, state, &measured.parts[last], last);
    kernel->release(state);
    return measured;
}
