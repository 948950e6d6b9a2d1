/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Clocks, in seconds. Local, no MPI. */

struct timer {
    double (*now)(void); /* seconds since an arbitrary start; not comparable between processes */
    double resolution_s; /* least step observed between two readings */
    const char *name;    /* CLOCK_MONOTONIC or MPI_Wtime */
};

double timing_monotonic(void);
double timing_realtime(void); /* CLOCK_REALTIME: comparable between processes of one host */

/* Least step observed between two readings of a clock. */
double timing_resolution(double (*now)(void));

/* CLOCK_MONOTONIC with its resolution. */
struct timer timing_own(void);
