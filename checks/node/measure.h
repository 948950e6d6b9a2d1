/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_NODE_MEASURE_H
#define ASSAY_NODE_MEASURE_H

#include "kernel.h"
#include "turns.h"

#include "assay/timing.h"

/* What one node gave for one kernel, complete on the node's first rank. */
struct measured {
    struct part parts[PARTS];
    int count;
    double *samples;              /* count × repetitions values in the part's unit */
    double instructions_per_work; /* of the last part on this rank, 0 where not counted */
};

/* Collective over turns->node: prepare, warm up, run every part settings->repetitions times in
 * turn, verify. A wrong result, no memory, or an interval too short for the clock ends the run.
 * fault: the part's result is damaged before it is verified. */
struct measured measure(const struct kernel *kernel, const struct node_settings *settings,
                        const struct turns *turns, const struct timer *timer, int fault);
void measured_free(struct measured *measured);

#endif
