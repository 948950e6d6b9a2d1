/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ASSAY_ECHO_POINTS_H
#define ASSAY_ECHO_POINTS_H

#include "assay/args.h"
#include "assay/clock.h"
#include "assay/sizes.h"

/* What an echo is asked, and what it reports of each message size, whatever carries its messages;
 * no MPI. */

struct echo_settings {
    const char *sizes;
    long long iterations, warmup, seed;
    int inject_fault;
};
extern struct echo_settings echo_settings;

#define ECHO_OPTIONS                                                                               \
    ARG_SIZES(&echo_settings.sizes),                                                               \
        {"iterations",                                                                             \
         ARG_INTEGER,                                                                              \
         &echo_settings.iterations,                                                                \
         1,                                                                                        \
         1000000,                                                                                  \
         NULL,                                                                                     \
         "round trips a size by each method (default 100)"},                                       \
        {"warmup",                                                                                 \
         ARG_INTEGER,                                                                              \
         &echo_settings.warmup,                                                                    \
         1,                                                                                        \
         1000000,                                                                                  \
         NULL,                                                                                     \
         "round trips before them, excluded (default 10)"},                                        \
        ARG_SEED(&echo_settings.seed, "the order of sizes"),                                       \
        {"inject-fault",                                                                           \
         ARG_FLAG,                                                                                 \
         &echo_settings.inject_fault,                                                              \
         0,                                                                                        \
         0,                                                                                        \
         NULL,                                                                                     \
         "alter a byte of each reply, which must be noticed (a fault, on purpose)"}

/* The sizes, buffers for the greatest of them, and room for the samples of one size. */
struct points {
    struct sizes sizes;
    unsigned char *outgoing, *incoming;
    double *samples;
};

/* By the settings; wrong ones, and no memory, end the run of every process (fail_all, fail_if). */
void points_prepare(struct points *points, const char *program);

/* The metrics of one size. points->samples and loop_s are whole round trips, s; samples are halved
 * in place. */
void points_report(struct points *points, long long bytes, double loop_s);

/* What an echo tells when all sizes are measured. */
void points_notes(const struct timer *timer);

void points_release(struct points *points);

#endif
