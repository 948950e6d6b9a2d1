/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "../kernel.h"
#include "assay/usage.h"

/* The steps of vetting one node, without MPI. Each measures for about `seconds`, proves its results
 * and reports metrics (assay/report.h); any error ends the process (fail_if). Local. */

/* Bind the calling thread to one processor. */
void bind_to(int processor);

/* A kernel on one thread a processor (all at once), or on the first processor alone. A rate is the
 * sum over the threads, a time their mean; samples are the values of the threads, in the order of
 * the processors. Time in which other programs had a processor does not count; its greatest share
 * is the note `others`. Time in which no program had it, though the thread was ready, counts: a
 * node whose processors are withheld (a quota, a hypervisor) is slow, and core_share, the least
 * share of the remaining time that a thread had its processor, says so. */
void work_run(const struct kernel *kernel, double seconds, int alone);

/* Time in which a cache line passes from the first processor to each other one; none where there is
 * one processor. */
void core_pairs_run(double seconds);

/* Rate of writing to a file without a name in folder, and the time of a small synchronised write.
 */
void disk_run(const char *folder, double seconds);

/* Rate of a TCP stream to the listening end and from it. The listening end answers one caller. */
void link_run(double seconds);

/* Time of a load that depends on the one before, at random in memory greater than the caches. */
extern const struct kernel latency_kernel;
