/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Who had the processors while something was measured. Local. */

#define MOST_PROCESSORS 1024

/* Seconds since some moment; between two readings, what passed. */
struct usage {
    double wall, own; /* of a clock; of this thread on a processor */
    double unused;    /* summed over processors: no program of this machine had it; -1: not known */
    double withheld;  /* summed over processors: the process's control groups were out of quota */
};

/* The processors that this process may use, in ascending order; returns their number, 0 where the
 * kernel does not say. */
int processors(int *found, int room);

/* Seconds that this thread had a processor. */
double usage_own(void);

/* What the kernel says now of this thread and these processors. */
struct usage usage_read(const int *processors, int count);
struct usage usage_since(const struct usage *begin, const int *processors, int count);

/* Seconds in which other programs had the processors that so many threads, always ready, could have
 * used; `own` is the sum over the threads. Time in which no program had a processor, or the threads
 * had no quota, is the machine's own: a busy machine gives the time of a quota to other programs,
 * so that no processor is idle, and only the kernel's count tells it from their load. */
double usage_others(const struct usage *passed, int threads, int processors);
