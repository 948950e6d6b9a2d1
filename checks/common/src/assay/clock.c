/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "clock.h"

#include "fail.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>
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

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct timing_summary timing_summarise(const double *samples, int count) {
    size_t bytes = (size_t)count * sizeof *samples;
    double *sorted = malloc(bytes), sum = 0;
    fail_if(!sorted, __func__, "out of memory: %zu bytes", bytes);
    memcpy(sorted, samples, bytes);
    qsort(sorted, (size_t)count, sizeof *sorted, ascending);
    for (int i = 0; i < count; i++)
        sum += sorted[i];
    struct timing_summary summary = {sorted[0], 0.5 * (sorted[(count - 1) / 2] + sorted[count / 2]),
                                     sum / count, sorted[count - 1]};
    free(sorted);
    return summary;
}
