/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "clock.h"

#include <float.h>
#include <time.h>

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double timing_monotonic(void) { return seconds(CLOCK_MONOTONIC); }

double timing_realtime(void) { return seconds(CLOCK_REALTIME); }

double timing_resolution(double (*now)(void)) {
    double least = DBL_MAX;
    for (int step = 0; step < 200; step++) {
        double first = now(), second = now();
        while (second <= first)
            second = now();
        if (second - first < least)
            least = second - first;
    }
    return least;
}

struct timer timing_own(void) {
    return (struct timer){timing_monotonic, timing_resolution(timing_monotonic), "CLOCK_MONOTONIC"};
}
