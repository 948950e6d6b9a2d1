/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "assay/args.h"
#include "assay/sizes.h"

/* The options, sizes and metrics of an echo, over MPI or TCP; no MPI. */

struct echo_settings {
    const char *sizes;
    long long iterations, warmup, seed;
    int inject_fault;
};
extern struct echo_settings echo_settings;

#define ECHO_OPTIONS                                                                               \
    ARG_SIZES(&echo_settings.sizes),                                                               \
        ARG_ITERATIONS(&echo_settings.iterations,                                                  \
                       "round trips for each size and method (default 100)"),                      \
        ARG_WARMUP(&echo_settings.warmup, "round trips before them, excluded (default 10)"),       \
        ARG_SEED(&echo_settings.seed, "the order of sizes"),                                       \
        ARG_FAULT(&echo_settings.inject_fault, "deliberate fault: corrupt a byte of each reply")

/* The sizes, buffers for the greatest of them, and the samples of one size. */
struct points {
    struct sizes sizes;
    unsigned char *outgoing, *incoming;
    double *samples;
};

/* Allocate by the settings, to the end of the process; a wrong one or lack of memory ends the run
 * (fail_all, fail_if). Collective. */
void points_prepare(struct points *points, const char *program);

/* Print the metrics of one size. points->samples and loop_s are whole round trips, s; the samples
 * are halved in place. */
void points_report(struct points *points, long long bytes, double loop_s);

/* Print the notes of an echo. */
void points_notes(void);
