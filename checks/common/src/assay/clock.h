/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_CLOCK_H
#define ASSAY_CLOCK_H

/* Clocks and what is made of their samples; no MPI. Seconds throughout. */

struct timer {
    double (*now)(void); /* seconds since an arbitrary start; never compared between processes */
    double resolution_s; /* least step seen between two different readings */
    const char *name;    /* CLOCK_MONOTONIC or MPI_Wtime */
};

double timing_monotonic(void);
double timing_realtime(void); /* CLOCK_REALTIME, to compare with the launcher's, same host only */

/* Least step seen between two different readings of a clock. */
double timing_resolution(double (*now)(void));

/* CLOCK_MONOTONIC with its resolution. */
struct timer timing_own(void);

/* Best, median, mean and worst of count > 0 samples; the order of samples is kept. */
struct timing_summary {
    double best, median, mean, worst;
};
struct timing_summary timing_summarise(const double *samples, int count);

#endif
