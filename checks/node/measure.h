/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "kernel.h"
#include "turns.h"

#include "assay/timing.h"

/* The results of one kernel on one node, complete on the node's first rank. */
struct measured {
    struct part parts[PARTS];
    int count;
    double *samples;              /* count × repetitions, in the units of the parts; never freed */
    double instructions_per_work; /* of the last part on this rank, 0 if not counted */
    double others; /* share of the processors that other programs had; -1 if nothing was timed */
};

/* Prepare, warm up, run the parts in turn, settings->repetitions times each, and verify. Time in
 * which other programs had the processors does not count (usage.h): of what a run of a rank took
 * off its processor, as great a share as was theirs in all. A wrong result, lack of memory or an
 * interval too short for the clock ends the run (fail_if). fault: corrupt the result before it is
 * verified. Collective over turns->node. */
struct measured measure(const struct kernel *kernel, const struct node_settings *settings,
                        const struct turns *turns, const struct timer *timer, int fault);
